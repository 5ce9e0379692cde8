import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { go, match, path, query, segments } from "../src/app/router";

test("the path has decoded segments and a query", () => {
  assert.equal(path.value, "/homes/4c0a/rooms/the%20kitchen");
  assert.deepEqual(segments.value, ["homes", "4c0a", "rooms", "the kitchen"]);
  assert.equal(query.value.get("day"), "2");
});

test("a pattern gives its parameters, or null", () => {
  assert.deepEqual(match("/homes/:id/rooms/:room"), { id: "4c0a", room: "the kitchen" });
  assert.equal(match("/homes/:id"), null);
  assert.equal(match("/console/:id/rooms/:room"), null);
});

test("a slash at the end does not matter, and a broken escape is no failure", () => {
  go("/homes/100%/");
  assert.deepEqual(segments.value, ["homes", "100%"]);
});

test("another origin is refused", () => {
  assert.throws(() => go("https://evil.example/homes"));
  assert.throws(() => go("//evil.example/homes"));
});
