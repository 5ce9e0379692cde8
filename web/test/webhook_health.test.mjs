import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { healthOf } from "../src/console/webhooks";

const AT = "2026-11-15T08:00:00Z";
const WEBHOOK = { endedAt: null, failingSince: null, nextAttemptAt: null };

test("a webhook whose receiver refuses an event is not healthy", () => {
  assert.equal(healthOf(WEBHOOK), "healthy");
  assert.equal(healthOf({ ...WEBHOOK, nextAttemptAt: AT }), "waiting");
  assert.equal(healthOf({ ...WEBHOOK, nextAttemptAt: AT, failingSince: AT }), "failing");
  assert.equal(healthOf({ ...WEBHOOK, nextAttemptAt: AT, failingSince: AT, endedAt: AT }), "ended");
});
