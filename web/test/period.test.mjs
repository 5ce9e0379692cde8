import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { periodOf, stepsOf } from "../src/homes/period";
import { csvOf, valuesOf } from "../src/homes/readings";

process.env.TZ = "Europe/Rome";

const SUNDAY = new Date(2026, 9, 25, 15); // the day on which summer time ends

test("a week begins on Monday and ends at the next one", () => {
  const { since, until } = periodOf("week", 0, SUNDAY);
  assert.deepEqual([since, until], [new Date(2026, 9, 19), new Date(2026, 9, 26)]);
  assert.deepEqual(periodOf("week", 1, SUNDAY).until, since);
});

test("the day on which the clocks change has 25 hours", () => {
  const steps = stepsOf(periodOf("day", 0, SUNDAY));
  assert.equal(steps.length, 25);
  assert.equal(new Set(steps.map((at) => at.getTime())).size, 25);
});

test("months and years have their days and months", () => {
  assert.equal(stepsOf(periodOf("month", 8, SUNDAY)).length, 28);
  assert.equal(stepsOf(periodOf("year", 0, SUNDAY)).length, 12);
  assert.deepEqual(periodOf("month", 10, SUNDAY).since, new Date(2025, 11, 1));
});

const reading = (hour, measure, more) => ({ at: new Date(2026, 9, 24, hour).toISOString(), measure, unit: "watt", mean: 5, low: 1, high: 9, last: 4, used: null, ...more });

test("values stand at their hour, and energy of several meters is summed", () => {
  const day = periodOf("day", 1, SUNDAY);
  const readings = [reading(8, "power"), reading(9, "energy", { used: 500 }), reading(9, "energy", { used: 250 })];
  assert.equal(valuesOf("power", readings, day)[8], 5);
  assert.equal(valuesOf("energy", readings, day)[9], 0.75);
  assert.equal(valuesOf("energy", readings, day).filter((value) => value !== null).length, 1);
});

test("a table has one line for each reading", () => {
  const lines = csvOf([reading(8, "power")]).split("\r\n");
  assert.deepEqual(lines, ["at,measure,unit,mean,low,high,last,used", "2026-10-24T06:00:00.000Z,power,watt,5,1,9,4,", ""]);
});
