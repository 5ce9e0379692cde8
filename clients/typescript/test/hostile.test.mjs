// Servers that are broken or hostile: no answer is endless for the client, and no secret goes to another host.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";
import { Client, DeadlineExceeded, DomogateError, faults, LoginFailed, NoAnswer, Session, UnexpectedAnswer, WebTokenStore } from "@domogate/client";
import { errorOf, problem, QUICK, scripted, TOKENS } from "./scripted.mjs";

const OLD = { accessToken: "old-access", refreshToken: "refresh-1", expiresAt: 1 };
const YEAR = String(365 * 24 * 3600);
const first = async (stream) => (await stream[Symbol.asyncIterator]().next()).value;

/** A server that sends a text again and again until the client closes the connection. */
async function endless(t, text, status = 200) {
  const chunk = text.repeat(65_536 / text.length);
  const server = createServer((_, response) => {
    response.writeHead(status, { "content-type": "text/event-stream" });
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", write);
    write();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

const clientOf = (url, settings = {}) => new Client(url, { subscriptionKey: "key", tokens: TOKENS, retries: QUICK, ...settings });
const refreshing = (url, settings = {}) => new Client(url, { session: new Session({ tokens: OLD }), retries: QUICK, ...settings });

test("an endless answer", async (t) => {
  const url = await endless(t, "x");
  assert((await errorOf(clientOf(url, { maxAnswer: 1_000_000 }).homeauto.listPlants())) instanceof UnexpectedAnswer);
});

test("an endless answer of the token endpoint", async (t) => {
  assert((await errorOf(refreshing(await endless(t, "x")).homeauto.listPlants())) instanceof UnexpectedAnswer);
});

for (const [name, text] of Object.entries({ line: "x", event: "data: x\n", "event of many fields": "a\n" })) {
  test(`an endless ${name} of a stream`, async (t) => {
    const error = await errorOf(first(clientOf(await endless(t, text)).events.listen()));
    assert(error instanceof UnexpectedAnswer);
    assert.match(error.message, /too large/);
  });
}

test("an endless error of a stream", async (t) => {
  assert.equal((await errorOf(first(clientOf(await endless(t, "x", 403)).events.listen()))).status, 403);
});

test("a list whose pages never end", async (t) => {
  const server = await scripted(t, { body: '{"items":[1],"next":"a"}' });
  const items = [];
  const read = async () => {
    for await (const item of clientOf(server.url).management.iterateUsers()) items.push(item);
  };
  assert((await errorOf(read())) instanceof UnexpectedAnswer);
  assert.deepEqual(items, [1, 1]);
});

test("Retry-After of a year is an error at once", async (t) => {
  const server = await scripted(t, problem(503, { "retry-after": YEAR }));
  const error = await errorOf(clientOf(server.url).homeauto.listPlants());
  assert.equal(error.retryAfter, Number(YEAR) * 1000);
  assert.equal(server.got.length, 1);
});

test("Retry-After may be a date", async (t) => {
  const late = new Date(Date.now() + 3_600_000).toUTCString();
  const server = await scripted(t, problem(503, { "retry-after": late }));
  const { retryAfter } = await errorOf(clientOf(server.url).homeauto.listPlants());
  assert(retryAfter > 3_000_000 && retryAfter <= 3_600_000);
  assert.equal(server.got.length, 1);
});

for (const after of ["-1", "1e9", "soon", "", "Infinity", "2026-01-01"]) {
  test(`Retry-After with another form is ignored: ${after}`, async (t) => {
    const server = await scripted(t, problem(503, { "retry-after": after }), {});
    await clientOf(server.url).homeauto.listPlants();
    assert.equal(server.got.length, 2);
  });
}

for (const [name, step] of Object.entries({
  "Retry-After": problem(503, { "retry-after": YEAR }),
  "the field retry": { headers: { "content-type": "text/event-stream" }, body: "retry: 999999999\n\n" },
})) {
  test(`a stream waits at most an hour, and not longer than it may: ${name}`, async (t) => {
    const server = await scripted(t, step);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const waits = [];
    const { setTimeout } = globalThis;
    t.mock.method(globalThis, "setTimeout", (act, milliseconds) => {
      waits.push(milliseconds);
      return setTimeout(act, milliseconds);
    });
    const controller = new AbortController();
    const reading = first(clientOf(server.url).events.listen({}, { signal: controller.signal }));
    while (waits.filter((wait) => wait > 45_000).length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await reading;
    assert.equal(waits.at(-1) <= 3_600_000, true, String(waits));
    assert.equal(server.got.length, 1);
  });
}

test("a stream that may not wait so long gives up at once", async (t) => {
  const server = await scripted(t, problem(503, { "retry-after": YEAR }));
  const error = await errorOf(first(clientOf(server.url, { reconnectFor: 60_000 }).events.listen()));
  assert(error instanceof NoAnswer);
  assert.equal(server.got.length, 1);
});

test("a deadline covers all attempts and their pauses", async (t) => {
  const server = await scripted(t, problem(503));
  const retries = { attempts: Infinity, firstPause: 20, longestPause: 20 };
  const began = performance.now();
  const error = await errorOf(clientOf(server.url, { retries, deadline: 300 }).homeauto.listPlants());
  assert(error instanceof DomogateError);
  assert(performance.now() - began < 10_000);
  assert(server.got.length >= 1);
});

test("a deadline covers the refresh, whose later failure is handled", async (t) => {
  let answer;
  const fetch = () => new Promise((_, reject) => (answer = reject));
  const error = await errorOf(refreshing("http://127.0.0.1:1", { fetch, deadline: 50 }).homeauto.listPlants());
  assert(error instanceof DeadlineExceeded);
  assert.equal(error.mayBeDone, false);
  answer(new LoginFailed("late"));
  await new Promise((resolve) => setTimeout(resolve, 20));
});

test("a call without a deadline", async (t) => {
  const server = await scripted(t, {});
  assert.deepEqual(await clientOf(server.url, { deadline: Infinity }).homeauto.listPlants(), { plants: [] });
});

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect to another host gets nothing: ${status}`, async (t) => {
    const other = await scripted(t, {});
    const server = await scripted(t, { status, headers: { location: `${other.url}/stolen` }, body: "" });
    const client = clientOf(server.url);
    assert((await errorOf(client.homeauto.listPlants())) instanceof UnexpectedAnswer);
    assert((await errorOf(first(client.events.listen()))) instanceof UnexpectedAnswer);
    assert((await errorOf(refreshing(server.url).homeauto.listPlants())) instanceof DomogateError);
    assert.equal(server.got.length, 3);
    assert.equal(other.got.length, 0);
  });
}

for (const [name, settings] of Object.entries({
  key: { subscriptionKey: "secret\nkey" },
  token: { tokens: { idToken: "secret token ü" } },
  "refreshed token": { session: new Session({ tokens: { idToken: "secret\u0000", refreshToken: "x" } }) },
})) {
  test(`a ${name} that cannot be sent is not shown`, async () => {
    const error = await errorOf((async () => clientOf("http://127.0.0.1:1", { tokens: undefined, ...settings }).homeauto.listPlants())());
    assert(error instanceof DomogateError);
    assert.doesNotMatch(inspect(error), /secret/);
  });
}

for (const url of ["http://user:secret@gateway.example", "https://gateway.example?secret", "https://gateway.example#secret"]) {
  test(`a base URL with more than an address is refused: ${url}`, () => {
    assert.throws(() => new Client(url), (error) => error instanceof DomogateError && !error.message.includes("secret"));
  });
}

test("a broken entry of the storage is no session, and is not shown", () => {
  for (const text of ["secret", "null", "1", '["secret"]']) {
    assert.equal(new WebTokenStore({ getItem: () => text, setItem: () => undefined }).load(), undefined);
  }
});

test("the errors of a server have the classes of the package", async (t) => {
  const server = await scripted(t, { status: 404, headers: { "x-fault": "-1" }, body: '{"errors":[{"code":{},"userMessage":7}]}' });
  const error = await errorOf(clientOf(server.url).homeauto.listPlants());
  assert.equal(error.status, 404);
  assert(!(error instanceof faults.DeviceOffline));
});
