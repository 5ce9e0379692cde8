import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeLanguage, count, formatAgo, formatClock, formatTime, formatUnit, language, loadTexts, suggestLanguage, t } from "../src/app/i18n";

const of = (texts) => async () => ({ default: texts });
const german = { hello: "Hallo {name}", "rooms.one": "ein Raum", "rooms.other": "{number} Räume" };
const english = { hello: "Hello {name}", "rooms.one": "one room", "rooms.other": "{number} rooms" };
const loaders = { de: of(german), en: of(english), fr: of(english), it: of(english) };

test("the language of the browser is used, with its region for numbers", async () => {
  await loadTexts(loaders);
  assert.equal(language.value, "de");
  assert.equal(t("hello", { name: "Anna" }), "Hallo Anna");
  assert.equal(count("rooms", 1), "ein Raum");
  assert.match(count("rooms", 1200), /^1\D200 Räume$/);
  assert.match(formatUnit(21.5, "celsius"), /^21\.5\s°C$/);
});

test("the language of the account wins over the browser, and a choice in this browser over both", async () => {
  await suggestLanguage("it");
  assert.equal(language.value, "it");
  await changeLanguage("en");
  await suggestLanguage("it");
  assert.equal(language.value, "en");
  assert.equal(t("hello", { name: "Anna" }), "Hello Anna");
  await suggestLanguage("xx");
  assert.equal(language.value, "en");
});

test("times of today are short, and the past is told in words", () => {
  const now = new Date(2026, 10, 15, 20, 0);
  assert.match(formatTime(new Date(2026, 10, 15, 8, 12), now), /^8:12\sAM$/);
  assert.match(formatTime(new Date(2026, 10, 14, 8, 12), now), /Nov 14, 2026/);
  assert.match(formatTime(new Date("2026-11-15T23:30Z"), new Date("2026-11-16T10:00Z"), "Europe/Rome"), /^12:30\sAM$/);
  assert.match(formatTime(new Date("2026-11-15T22:30Z"), new Date("2026-11-16T10:00Z"), "Europe/Rome"), /Nov 15, 2026.*11:30/);
  assert.match(formatClock(new Date(2026, 10, 14, 8, 12, 3)), /^8:12:03\sAM$/);
  assert.equal(formatAgo(new Date(2026, 10, 15, 19, 55), now), "5 minutes ago");
  assert.equal(formatAgo(new Date(2026, 10, 14, 20, 0), now), "yesterday");
});

test("a text that is missing shows its key", () => {
  assert.equal(t("nothing.here"), "nothing.here");
});
