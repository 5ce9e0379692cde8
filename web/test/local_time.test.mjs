import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "America/New_York";
const { differsHere, knownZone, toInstant, toLocal } = await import("../src/app/local_time");

test("a time is in the given zone, in winter and in summer", () => {
  assert.equal(toInstant("2026-12-24T18:00", "Europe/Rome"), "2026-12-24T17:00:00.000Z");
  assert.equal(toInstant("2026-07-01T18:00", "Europe/Rome"), "2026-07-01T16:00:00.000Z");
  assert.equal(toInstant("2026-07-01T18:00", "Asia/Kolkata"), "2026-07-01T12:30:00.000Z");
  assert.equal(toInstant("", "Europe/Rome"), null);
});

test("on the days on which the clocks change, times before and after the change are right", () => {
  for (const local of ["2026-03-29T01:30", "2026-03-29T03:30", "2026-10-25T01:30", "2026-10-25T03:30"]) {
    assert.equal(toLocal(toInstant(local, "Europe/Rome"), "Europe/Rome"), local);
  }
  assert.equal(toInstant("2026-03-29T03:30", "Europe/Rome"), "2026-03-29T01:30:00.000Z");
});

test("a midnight that does not exist becomes the begin of the day, and one that comes twice is the first", () => {
  assert.equal(toInstant("2026-09-06T00:00", "America/Santiago"), "2026-09-06T04:00:00.000Z");
  assert.equal(toLocal("2026-09-06T04:00:00Z", "America/Santiago"), "2026-09-06T01:00");
  assert.equal(toInstant("2026-09-06T00:30", "America/Santiago"), "2026-09-06T04:30:00.000Z");
  assert.equal(toInstant("2026-09-05T23:30", "America/Santiago"), "2026-09-06T03:30:00.000Z");
  assert.equal(toInstant("2026-03-29T00:00", "Asia/Beirut"), "2026-03-28T22:00:00.000Z");
  assert.equal(toInstant("2026-11-01T00:00", "America/Havana"), "2026-11-01T04:00:00.000Z");
  assert.equal(toInstant("2026-04-05T00:00", "America/Santiago"), "2026-04-05T04:00:00.000Z");
});

test("without a zone, a time is in the zone of the browser", () => {
  assert.equal(toInstant("2026-12-24T18:00"), "2026-12-24T23:00:00.000Z");
  assert.equal(toLocal("2026-12-24T23:00:00Z"), "2026-12-24T18:00");
  assert.equal(toLocal(null), "");
});

test("zones are compared by their clocks", () => {
  assert.equal(differsHere("America/Toronto", 2026), false);
  assert.equal(differsHere("America/Jamaica", 2026), true);
  assert.equal(knownZone("Mars/Olympus"), undefined);
  assert.equal(knownZone(null), undefined);
});
