// Whether a command may be done, and deadlines of calls and streams, against a server that answers as the test says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Client, DeadlineExceeded, DomogateError, GatewayFailed, LoginRequired, NotFound, Session, Unavailable } from "@domogate/client";
import { errorOf, HOME, MODULE, problem, QUICK, scripted, TOKENS } from "./scripted.mjs";

const clientOf = (server, settings = { tokens: TOKENS }) => new Client(server.url, { retries: QUICK, ...settings });
const command = (client, options) => client.home.commandModule(HOME, MODULE, { do: "set light", on: true }, options);
const expired = () => new Session({ tokens: { accessToken: "a", refreshToken: "r", expiresAt: 1 } });
const EXPIRED_TOKEN = problem(401, { "www-authenticate": 'Bearer realm="domogate", error="invalid_token"' });
const REFUSED_REFRESH = { status: 400, body: '{"error":"invalid_grant"}' };

for (const [answer, mayBeDone] of [
  [problem(400), false],
  [problem(401), false],
  [problem(404), false],
  [problem(404, { "x-fault": "4002" }), true],
  [problem(408), true],
  [problem(429), false],
  [problem(500), true],
  [problem(500, { "x-fault": "4003" }), false],
  [problem(503), true],
  [problem(503, { "x-fault": "4001" }), false],
  [{ status: 307, headers: { location: "/" }, body: "" }, true],
  [{ body: "no JSON" }, true],
  [{ drop: true }, true],
]) {
  test(`a command with an error: ${inspect(answer)}`, async (t) => {
    const error = await errorOf(command(clientOf(await scripted(t, answer))));
    assert(error instanceof DomogateError);
    assert.equal(error.mayBeDone, mayBeDone);
  });
}

for (const answer of [{ drop: true }, problem(408), problem(500), problem(503), { body: "no JSON" }]) {
  test(`a read has no effect: ${inspect(answer)}`, async (t) => {
    assert.equal((await errorOf(clientOf(await scripted(t, answer)).homeauto.listPlants())).mayBeDone, false);
  });
}

for (const first of [{ drop: true }, problem(503)]) {
  test(`an earlier attempt counts: ${inspect(first)}`, async (t) => {
    const server = await scripted(t, first, problem(404));
    const error = await errorOf(command(clientOf(server)));
    assert(error instanceof NotFound);
    assert.equal(server.got.length, 2);
    assert.equal(error.mayBeDone, true);
  });
}

test("a failed refresh sends no command", async (t) => {
  for (const answer of [{ status: 500, body: "" }, problem(503), { drop: true }]) {
    const server = await scripted(t, answer);
    assert.equal((await errorOf(command(clientOf(server, { session: expired() })))).mayBeDone, false);
    assert(server.got.every(({ path }) => path === "/auth/token"));
  }
});

test("parallel calls with the same failed refresh keep their own effects", async (t) => {
  const step = (attempts) => ({ url }) => {
    if (url === "/auth/token") return REFUSED_REFRESH;
    return url.startsWith("/home/") && attempts.push(url) === 1 ? problem(503) : EXPIRED_TOKEN;
  };
  const server = await scripted(t, step([]));
  const session = new Session({ tokens: { accessToken: "a", refreshToken: "r" } });
  const client = clientOf(server, { session });
  const errors = await Promise.all([errorOf(command(client)), errorOf(client.homeauto.listPlants())]);
  assert(errors.every((error) => error instanceof LoginRequired && error.error === "invalid_grant"));
  assert.deepEqual(errors.map(({ mayBeDone }) => mayBeDone), [true, false]);
});

test("503 has its own class", async (t) => {
  const server = await scripted(t, problem(503, { "x-fault": "5999", "retry-after": "60" }));
  const error = await errorOf(command(clientOf(server), { deadline: 20_000 }));
  assert(error instanceof Unavailable && error instanceof GatewayFailed);
  assert.deepEqual([error.status, error.retryAfter], [503, 60_000]);
});

for (const part of ["headers", "body"]) {
  for (const first of [[], [{}]]) {
    test(`an answer that never ends and always sends something: ${part}, connection ${first.length}`, async (t) => {
      const client = clientOf(await scripted(t, ...first, { drip: part }));
      for (const _ of first) await client.homeauto.listPlants();
      assert((await errorOf(client.homeauto.listPlants({ deadline: 300 }))) instanceof DeadlineExceeded);
    });
  }
}

test("after its deadline, a call sends nothing", async (t) => {
  const server = await scripted(t, {});
  const error = await errorOf(command(clientOf(server), { deadline: 0 }));
  assert(error instanceof DeadlineExceeded);
  assert.equal(error.mayBeDone, false);
  assert.equal(server.got.length, 0);
});

const EVENTS = { headers: { "content-type": "text/event-stream" }, body: 'event: ready\ndata: {"cursor":1}\n\n' };
for (const step of [{ drip: "headers" }, { drip: "body" }, { status: 503, body: "" }, { ...EVENTS, body: "" }, { ...EVENTS, silent: true }]) {
  test(`listening ends at its deadline: ${inspect(step)}`, async (t) => {
    const client = clientOf(await scripted(t, step));
    const listen = async () => {
      for await (const item of client.events.listen({}, { deadline: 300 })) assert.equal(item.type, "ready");
    };
    const error = await errorOf(listen());
    assert(error instanceof DeadlineExceeded);
    assert.match(error.message, /deadline of 300 ms/);
    assert.equal(error.mayBeDone, false);
  });
}

test("listening ends at its deadline during a refresh", async () => {
  const fetch = () => new Promise(() => undefined);
  const client = clientOf({ url: "http://127.0.0.1:1" }, { session: expired(), fetch });
  const error = await errorOf(client.events.listen({}, { deadline: 50 })[Symbol.asyncIterator]().next());
  assert(error instanceof DeadlineExceeded);
});

test("a loop that is left before the deadline has no error", async (t) => {
  const client = clientOf(await scripted(t, { ...EVENTS, silent: true }));
  for await (const item of client.events.listen({}, { deadline: 60_000 })) {
    assert.equal(item.type, "ready");
    break;
  }
});
