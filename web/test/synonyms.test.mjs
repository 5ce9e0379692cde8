import assert from "node:assert/strict";
import { test } from "node:test";
import { matches } from "../src/developers/synonyms";

const LIGHT = "POST /light Set light status setLight E9";
const PLUG = "POST /plug Set plug status on an ambient switchPlugs E1";
const LOCK = "POST /lock Open lock openLock E12";
const THERMOSTAT = "GET /thermostat Get chronothermostat status readThermostat E14";

test("everyday words find the operations", () => {
  const found = (words) => [LIGHT, PLUG, LOCK, THERMOSTAT].filter((text) => matches(text, words));
  assert.deepEqual(found("lamp"), [LIGHT]);
  assert.deepEqual(found("Lamps"), [LIGHT]);
  assert.deepEqual(found("switch"), [LIGHT, PLUG]);
  assert.deepEqual(found("turn on"), [LIGHT, PLUG]);
  assert.deepEqual(found("turn off lamp"), [LIGHT]);
  assert.deepEqual(found("door"), [LOCK]);
  assert.deepEqual(found("heating"), [THERMOSTAT]);
  assert.deepEqual(found("open LOCK"), [LOCK]);
  assert.deepEqual(found("constructor"), []);
});
