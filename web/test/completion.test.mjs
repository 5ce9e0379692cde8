import assert from "node:assert/strict";
import { test } from "node:test";
import { complete } from "../src/console/estate/completion";

const SCHEMA = {
  properties: { plants: { type: "array", items: { $ref: "#/$defs/plant" } } },
  $defs: {
    plant: { properties: { name: { type: "string", title: "Plant name" }, type: { enum: ["house", "hotel"] }, modules: { type: "array", items: { $ref: "#/$defs/module" } } } },
    module: {
      properties: { kind: { enum: ["light", "lock"] }, state: { type: "object" }, steps: { type: "array", items: { properties: { do: { enum: ["a", "b"] } } } } },
      allOf: [
        { if: { properties: { kind: { const: "light" } } }, then: { properties: { state: { $ref: "#/$defs/lightState" } } } },
        { if: { properties: { kind: { const: "lock" } } }, then: { propertyNames: { enum: ["kind", "state"] } } },
      ],
    },
    lightState: { type: "object", properties: { on: { type: "boolean" }, level: { type: "integer" } } },
  },
};

/** The labels at the bar in the text. */
function at(text) {
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes("|"));
  const column = lines[line].indexOf("|");
  lines[line] = lines[line].replace("|", "");
  const found = complete(SCHEMA, lines, line, column);
  return found && { from: found.from, labels: found.suggestions.map(({ label }) => label) };
}

test("keys that are not there yet are suggested", () => {
  assert.deepEqual(at("|"), { from: 0, labels: ["plants"] });
  assert.deepEqual(at("plants:\n  - name: A\n    |"), { from: 4, labels: ["type", "modules"] });
  assert.deepEqual(at("plants:\n- |\n  type: hotel"), { from: 2, labels: ["name", "modules"] });
  assert.deepEqual(at("plants:\n  - na|"), { from: 4, labels: ["name", "type", "modules"] });
});

test("values of an enumeration and yes or no are suggested", () => {
  assert.deepEqual(at("plants:\n  - type: h|\n    name: A"), { from: 10, labels: ["house", "hotel"] });
  assert.deepEqual(at("plants:\n  - modules:\n      - kind: light\n        state:\n          on: |"), { from: 14, labels: ["true", "false"] });
});

test("the kind of a module decides about its other keys, wherever it is written", () => {
  assert.deepEqual(at("plants:\n  - modules:\n      - state:\n          |\n        kind: light").labels, ["on", "level"]);
  assert.deepEqual(at("plants:\n  - modules:\n      - kind: light\n      - kind: lock\n        |").labels, ["state"]);
  assert.equal(at("plants:\n  - modules:\n      - kind: heater\n        state:\n          |").labels.length, 0);
});

test("lists in lists are followed, also at the indent of their key", () => {
  assert.deepEqual(at("plants:\n- modules:\n  - kind: light\n    steps:\n    - do: |").labels, ["a", "b"]);
  assert.equal(at("plants:\n  - unknown:\n      - |"), null);
});
