import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { ColderWarmer } from "../src/homes/controls";

/** The set points that the two buttons send. */
function press(setPoint) {
  const sent = [];
  const device = { module: { value: { command: "set thermostat", name: "Hall" } }, send: async (command) => sent.push(command.setPoint) };
  const buttons = ColderWarmer({ device, state: { mode: "protection", setPoint } }).props.children.filter((one) => one.props.onClick);
  for (const { props } of buttons) props.onClick();
  return sent;
}

test("the buttons change the temperature by half a degree, from 5 to 30 degrees", () => {
  assert.deepEqual(press(20), [19.5, 20.5]);
  assert.deepEqual(press(5), [5, 5.5]);
  assert.deepEqual(press(30), [29.5, 30]);
});

test("warmer never makes a temperature colder, nor colder warmer", () => {
  // Protection while cooling.
  assert.deepEqual(press(35), [34.5, 35]);
  assert.deepEqual(press(4), [4, 4.5]);
});
