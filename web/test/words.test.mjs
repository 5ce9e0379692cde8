import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../src/app/api";
import { loadTexts } from "../src/app/i18n";
import { valueWords } from "../src/console/values";

const texts = { "console.action.user_added": "Person hinzugefügt", "error.reason.user_exists": "Diese Person gibt es schon.", "error.refused_details": "Abgelehnt: {detail}", "error.open_people": "Personen öffnen" };

test("a value without a text is shown as the API writes it", async () => {
  await loadTexts({ de: async () => ({ default: texts }) });
  assert.equal(valueWords("action", "user added"), "Person hinzugefügt");
  assert.equal(valueWords("action", "user duplicated"), "user duplicated");
});

test("an operator sees a sentence before a detail of the API that is only in English", () => {
  const refused = (reason) => new ApiError(409, { text: "There is a user already.", reason }, "/manage/v1/users").words;
  assert.equal(refused("user_exists"), "Diese Person gibt es schon.");
  assert.equal(refused("something_new"), "Abgelehnt: There is a user already.");
  assert.equal(refused(undefined), "Abgelehnt: There is a user already.");
});

test("a refusal has a link to the page on which the person can solve it", () => {
  const solution = (status, reason, path) => new ApiError(status, { text: "No.", reason }, path).solution?.[0];
  assert.equal(solution(469, undefined, "/home/v1/homes"), "/auth/account/password");
  assert.equal(solution(470, undefined, "/manage/v1/users"), "/auth/account/terms");
  assert.equal(solution(403, undefined, "/manage/v1/users"), "/");
  assert.equal(solution(422, "no_such_user", "/manage/v1/plants"), "/console/people");
  assert.equal(solution(422, "no_such_user", "/home/v1/homes"), undefined);
  assert.equal(solution(409, "user_exists", "/manage/v1/users"), undefined);
});
