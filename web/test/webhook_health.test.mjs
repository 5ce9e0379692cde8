import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTexts } from "../src/app/i18n";
import { healthOf } from "../src/console/webhooks";
import { webhookWords } from "../src/homes/applications";

const AT = "2026-11-15T08:00:00Z";
const WEBHOOK = { endedAt: null, failingSince: null, nextAttemptAt: null };

test("a webhook whose receiver refuses an event is not healthy", () => {
  assert.equal(healthOf(WEBHOOK), "healthy");
  assert.equal(healthOf({ ...WEBHOOK, nextAttemptAt: AT }), "waiting");
  assert.equal(healthOf({ ...WEBHOOK, nextAttemptAt: AT, failingSince: AT }), "failing");
  assert.equal(healthOf({ ...WEBHOOK, nextAttemptAt: AT, failingSince: AT, endedAt: AT }), "ended");
});

test("a resident sees that the receiver of a webhook refuses events", async () => {
  const texts = { "homes.applications.working": "Kein Problem", "homes.applications.waiting": "Einige Ereignisse warten", "homes.applications.failing": "Nicht zustellbar seit {time}" };
  await loadTexts({ de: async () => ({ default: texts }) });
  assert.equal(webhookWords(WEBHOOK), "Kein Problem");
  assert.equal(webhookWords({ ...WEBHOOK, nextAttemptAt: AT }), "Einige Ereignisse warten");
  assert.match(webhookWords({ ...WEBHOOK, nextAttemptAt: AT, failingSince: AT }), /^Nicht zustellbar/);
});
