import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../src/app/api";
import { loadTexts } from "../src/app/i18n";
import { valueWords } from "../src/console/values";

const texts = { "console.action.user_added": "Person hinzugefügt", "error.reason.user_exists": "Diese Person gibt es schon." };

test("a value without a text is shown as the API writes it", async () => {
  await loadTexts({ de: async () => ({ default: texts }) });
  assert.equal(valueWords("action", "user added"), "Person hinzugefügt");
  assert.equal(valueWords("action", "user duplicated"), "user duplicated");
});

test("a refusal without a text is shown to operators as the API writes it", () => {
  const refused = (reason) => new ApiError(409, { detail: "There is a user already.", reason }, null, "/manage/v1/users").words;
  assert.equal(refused("user_exists"), "Diese Person gibt es schon.");
  assert.equal(refused("something_new"), "There is a user already.");
  assert.equal(refused(undefined), "There is a user already.");
});
