// The refresh of tokens, and the checks of a login.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { beginLogin, Client, finishLogin, LoginFailed, LoginRequired, Session, WebTokenStore } from "@domogate/client";
import { errorOf, problem, QUICK, scripted } from "./scripted.mjs";

const OLD = { accessToken: "old-access", idToken: "old-id", refreshToken: "refresh-1", expiresAt: Date.now() - 1000 };
const EXPIRED = problem(401, { "www-authenticate": 'Bearer realm="domogate", error="invalid_token"' });
const ATTEMPTS = 3;
const answer = (number) => ({
  body: JSON.stringify({ access_token: `access-${number}`, refresh_token: `refresh-${number}`, expires_in: 3600, scope: "x" }),
});

/** Whether one refresh was sent. On a busy machine, an attempt of it gets its answer too late, and the client repeats it. */
function isOneRefresh(requests) {
  const refreshes = requests.filter(({ path }) => path === "/auth/token");
  return refreshes.length >= 1 && refreshes.length <= ATTEMPTS && refreshes.every(({ body }) => body === refreshes[0].body);
}

/** A store that keeps what it is given. */
class Memory {
  saved = [];
  load() {
    return this.saved.at(-1);
  }
  async save(tokens) {
    this.saved.push(tokens);
  }
}

test("parallel calls refresh once, and the new tokens are stored before they are used", async (t) => {
  const server = await scripted(t, answer(2), {});
  const store = new Memory();
  const session = new Session({ clientId: "my-app", tokens: OLD, store });
  const client = new Client(server.url, { session, retries: QUICK });
  await Promise.all([1, 2, 3].map(() => client.homeauto.listPlants()));
  const [refresh, ...calls] = server.got;
  assert.equal(refresh.path, "/auth/token");
  assert.equal(refresh.body, "grant_type=refresh_token&refresh_token=refresh-1&client_id=my-app");
  assert.deepEqual(calls.map(({ headers }) => headers.authorization), Array(3).fill("Bearer access-2"));
  assert.deepEqual(store.saved.map(({ refreshToken }) => refreshToken), ["refresh-1", "refresh-2"]);
});

for (const [name, tokens] of [["expired", OLD], ["refused", { ...OLD, expiresAt: Date.now() + 3_600_000 }]]) {
  test(`a hundred parallel calls with ${name} tokens refresh once`, async (t) => {
    const byToken = (request) => (request.headers.authorization === "Bearer access-2" ? {} : EXPIRED);
    const server = await scripted(t, (request) => (request.url === "/auth/token" ? answer(2) : byToken(request)));
    const client = new Client(server.url, { session: new Session({ tokens }), retries: QUICK });
    await Promise.all(Array.from({ length: 100 }, () => client.homeauto.listPlants()));
    assert(isOneRefresh(server.got));
  });

  test(`a refused refresh is one request and one error for all calls: ${name} tokens`, async (t) => {
    const refused = { status: 400, body: '{"error":"invalid_grant","error_description":"Used before."}' };
    const server = await scripted(t, (request) => (request.url === "/auth/token" ? refused : EXPIRED));
    const client = new Client(server.url, { session: new Session({ tokens }), retries: QUICK });
    const errors = await Promise.all(Array.from({ length: 20 }, () => errorOf(client.homeauto.listPlants())));
    errors.push(await errorOf(client.homeauto.listPlants()));
    assert.deepEqual(new Set(errors.map((error) => `${error.name} ${error.message}`)).size, 1);
    assert(errors.every((error) => error instanceof LoginRequired && error.error === "invalid_grant"));
    assert(isOneRefresh(server.got));
  });
}

test("new tokens in the store end a refused refresh", async (t) => {
  const server = await scripted(t, { status: 400, body: '{"error":"invalid_grant"}' }, {});
  const store = new Memory();
  const client = new Client(server.url, { session: new Session({ tokens: OLD, store }), retries: QUICK });
  assert((await errorOf(client.homeauto.listPlants())) instanceof LoginRequired);
  await store.save({ accessToken: "of-a-new-login", refreshToken: "refresh-9", expiresAt: Date.now() + 3_600_000 });
  await client.homeauto.listPlants();
  assert.equal(server.got[1].headers.authorization, "Bearer of-a-new-login");
});

for (const status of [429, 502, 503, 504]) {
  test(`a refresh is repeated after the status ${status}`, async (t) => {
    const server = await scripted(t, problem(status), answer(2), {});
    const client = new Client(server.url, { session: new Session({ tokens: OLD }), retries: QUICK });
    await client.homeauto.listPlants();
    assert.equal(server.got.length, 3);
  });
}

for (const body of ["<html>", "{}", '{"access_token":""}', '{"access_token":7}']) {
  test(`an answer without a token is not stored: ${body}`, async (t) => {
    const server = await scripted(t, { body });
    const store = new Memory();
    const client = new Client(server.url, { session: new Session({ tokens: OLD, store }), retries: QUICK });
    const error = await errorOf(client.homeauto.listPlants());
    assert(error instanceof LoginFailed && !(error instanceof LoginRequired));
    assert.deepEqual(store.saved, [OLD]);
  });
}

test("tokens without a lifetime are used until they are refused", async (t) => {
  const server = await scripted(t, { body: '{"access_token":"a"}' }, {});
  const client = new Client(server.url, { session: new Session({ tokens: OLD }), retries: QUICK });
  await client.homeauto.listPlants();
  await client.homeauto.listPlants();
  assert.equal(server.got.filter(({ path }) => path === "/auth/token").length, 1);
});

test("a refused token is refreshed once, also for a command", async (t) => {
  const tokens = { ...OLD, expiresAt: Date.now() + 3_600_000 };
  const server = await scripted(t, EXPIRED, answer(2), EXPIRED);
  const client = new Client(server.url, { session: new Session({ tokens }), retries: QUICK });
  assert.equal((await errorOf(client.homeauto.runScene("a", "b", { status: "run" }))).status, 401);
  assert.deepEqual(server.got.map(({ path }) => path.split("/").at(-1)), ["b", "token", "b"]);
});

test("a refresh is repeated if no answer comes", async (t) => {
  const server = await scripted(t, { drop: true }, answer(2), {});
  const client = new Client(server.url, { session: new Session({ tokens: OLD }), retries: QUICK });
  await client.homeauto.listPlants();
  assert.equal(server.got.filter(({ path }) => path === "/auth/token").length, 2);
});

test("the tokens of another process are used", async (t) => {
  const server = await scripted(t, {});
  const store = new Memory();
  const session = new Session({ store });
  await store.save({ idToken: "from-another-process" });
  await new Client(server.url, { session }).homeauto.listPlants();
  assert.equal(server.got[0].headers.authorization, "Bearer from-another-process");
});

test("a refresh token that does not work any more needs a login", async (t) => {
  const server = await scripted(t, { status: 400, body: '{"error":"invalid_grant"}' });
  const client = new Client(server.url, { session: new Session({ tokens: OLD }) });
  assert((await errorOf(client.homeauto.listPlants())) instanceof LoginRequired);
  assert.equal(server.got.length, 1);
});

test("an error of the store reaches the application", async (t) => {
  const server = await scripted(t, answer(2));
  const store = { load: () => undefined, save: () => Promise.reject(new Error("the disk is full")) };
  const client = new Client(server.url, { session: new Session({ tokens: OLD, store }) });
  assert.equal((await errorOf(client.homeauto.listPlants())).message, "the disk is full");
});

test("a web page keeps the tokens in its storage", () => {
  const storage = new Map();
  const store = new WebTokenStore({ getItem: (key) => storage.get(key) ?? null, setItem: (key, text) => storage.set(key, text) });
  assert.equal(store.load(), undefined);
  store.save(OLD);
  assert.deepEqual(store.load(), OLD);
});

const jwt = (claims) => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;

test("the callback must belong to the attempt", async (t) => {
  const server = await scripted(t, {});
  const attempt = await beginLogin(server.url, "my-app", ["light.read"], "https://app.example/callback");
  const issuer = `${server.url}/auth`;
  for (const [fields, error] of [
    [{ state: "other", iss: issuer, code: "c" }, "wrong_state"],
    [{ state: attempt.state, iss: "https://evil.example", code: "c" }, "wrong_issuer"],
    [{ state: attempt.state, iss: issuer, error: "access_denied" }, "access_denied"],
    [{ state: attempt.state, iss: issuer }, "no_code"],
  ]) {
    const failed = await errorOf(finishLogin(attempt, `https://app.example/callback?${new URLSearchParams(fields)}`));
    assert(failed instanceof LoginFailed);
    assert.equal(failed.error, error);
  }
  assert.equal(server.got.length, 0);
});

test("the id token must belong to the attempt", async (t) => {
  const steps = [];
  const server = await scripted(t, ...[0, 1, 2, 3].map(() => ({ get body() { return steps.shift(); } })));
  const attempt = await beginLogin(server.url, "my-app", [], "https://app.example/callback");
  const right = { nonce: attempt.nonce, iss: `${server.url}/auth`, aud: "my-app" };
  const callback = `https://app.example/callback?${new URLSearchParams({ state: attempt.state, iss: right.iss, code: "c" })}`;
  for (const wrong of [{ nonce: "other" }, { iss: "other" }, { aud: "other" }]) {
    steps.push(JSON.stringify({ access_token: "a", id_token: jwt({ ...right, ...wrong }), expires_in: 60 }));
    assert.equal((await errorOf(finishLogin(attempt, callback))).error, "wrong_id_token");
  }
  steps.push(JSON.stringify({ access_token: "a", id_token: jwt(right), expires_in: 60 }));
  const session = await finishLogin(attempt, callback);
  assert.equal(session.tokens.accessToken, "a");
  const sent = new URLSearchParams(server.got[0].body);
  assert.equal(sent.get("code_verifier"), attempt.verifier);
  const challenge = createHash("sha256").update(attempt.verifier).digest("base64url");
  assert.equal(new URL(attempt.url).searchParams.get("code_challenge"), challenge);
  assert.equal(new URL(attempt.url).searchParams.get("code_challenge_method"), "S256");
});
