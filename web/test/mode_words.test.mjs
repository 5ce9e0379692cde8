import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDate, loadTexts } from "../src/app/i18n";
import { modeWords } from "../src/homes/controls";

test("the end of a mode has a date unless it is today", async () => {
  await loadTexts({ de: async () => ({ default: { "homes.mode.boost": "Boost", "homes.mode_until": "{mode} bis {time}" } }) });
  const now = new Date();
  const other = new Date(now.getTime() + 3 * 86_400_000);
  const words = (at) => modeWords({ mode: "boost", activationTime: at?.toISOString() ?? null });
  assert.equal(words(null), "Boost");
  assert.equal(words(now), `Boost bis ${formatDate(now, { timeStyle: "short" })}`);
  assert.equal(words(other), `Boost bis ${formatDate(other, { dateStyle: "medium", timeStyle: "short" })}`);
});
