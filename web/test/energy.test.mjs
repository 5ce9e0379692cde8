import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { comparable } from "../src/homes/energy";

const METER = { moduleId: "meter", used: 300, cost: 60 };
const PLUG = { moduleId: "plug", used: 5, cost: 1 };
const OTHER_PLUG = { moduleId: "other plug", used: null, cost: null };
const by = (total, ...modules) => ({ used: total?.used ?? null, cost: total?.cost ?? null, modules });
const compare = (energy, before) => {
  const { used, cost } = comparable(energy, before, ["meter"]);
  return [used, cost];
};

test("the period before has the same kind of devices", () => {
  assert.deepEqual(compare(by(METER, METER, PLUG), by(METER, METER, PLUG)), [300, 60]);
  assert.deepEqual(compare(by(PLUG, PLUG), by(PLUG, PLUG)), [5, 1]);
});

test("plugs are compared with plugs if a meter measured only in the period before", () => {
  assert.deepEqual(compare(by(PLUG, PLUG), by(METER, METER, PLUG, OTHER_PLUG)), [5, 1]);
  assert.deepEqual(compare(by(PLUG, PLUG), by(METER, METER, OTHER_PLUG)), [null, null]);
});

test("a new meter is not compared with plugs", () => {
  assert.deepEqual(compare(by(METER, METER, PLUG), by(PLUG, PLUG)), [null, null]);
});

test("the period before is shown if nothing was measured in the period", () => {
  assert.deepEqual(compare(by(null), by(METER, METER)), [300, 60]);
});
