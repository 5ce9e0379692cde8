import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { optionFields, optionsOf } from "../src/console/options";

const PLAIN = {
  properties: {
    where: { type: "string", description: "The address." },
    levels: { type: "integer", enum: [1, 10] },
    color: { type: "boolean" },
    groups: { type: "array", items: { type: "integer" } },
    state: { type: "object" },
    after: { anyOf: [{ type: "number" }, { type: "null" }], default: null },
  },
  required: ["where"],
};

const VARIANTS = {
  anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }],
  discriminator: { propertyName: "dialect", mapping: { a: "#/$defs/A", b: "#/$defs/B" } },
  $defs: {
    A: { properties: { dialect: { enum: ["a"] }, topic: { type: "string" } }, required: ["dialect"] },
    B: { properties: { dialect: { enum: ["b"] }, relay: { type: "integer", default: 1 } }, required: ["dialect"] },
  },
};

test("each option has a field of its type", () => {
  const fields = optionFields(PLAIN, { where: "11", groups: [3, 4] })({});
  assert.deepEqual(fields.map(({ kind }) => kind), ["text", "choice", "choice", "lines", "block", "text"]);
  assert.deepEqual(fields.map(({ value }) => value), ["11", "", "", ["3", "4"], "", ""]);
});

test("empty fields are left out, and the others have the type of the schema", () => {
  const values = { where: "12", levels: "10", color: "false", groups: ["3", ""], state: '{"on": 1}', after: "2.5" };
  assert.deepEqual(optionsOf(PLAIN, {}, values), { where: "12", levels: 10, color: false, groups: [3], state: { on: 1 }, after: 2.5 });
  assert.deepEqual(optionsOf(PLAIN, {}, { where: "12", levels: "", color: "", groups: [], state: "", after: "" }), { where: "12" });
});

test("another variant has other fields", () => {
  const names = (given) => optionFields(VARIANTS, { dialect: "a", topic: "t" })(given).map(({ name }) => name);
  assert.deepEqual(names({}), ["dialect", "topic"]);
  assert.deepEqual(names({ dialect: "b" }), ["dialect", "relay"]);
  assert.deepEqual(optionsOf(VARIANTS, { dialect: "a" }, { dialect: "b", relay: "2" }), { dialect: "b", relay: 2 });
});
