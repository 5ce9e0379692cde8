// Retries, deadlines, the cache and errors, against a server that answers as the test says.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { inspect } from "node:util";
import { Client, DeadlineExceeded, DomogateError, ETagCache, faults, LoginRequired, NoAnswer, NotFound, UnexpectedAnswer } from "@domogate/client";
import { errorOf, HOME, MODULE, problem, QUICK, scripted, TOKENS } from "./scripted.mjs";

const clientOf = (server, settings = {}) =>
  new Client(server.url, { subscriptionKey: "secret-key", tokens: TOKENS, retries: QUICK, ...settings });

for (const first of [{ drop: true }, problem(503), problem(429), problem(502), problem(504)]) {
  test(`a read is repeated after ${first.status ?? "a lost connection"}`, async (t) => {
    const server = await scripted(t, first, {});
    assert.deepEqual(await clientOf(server).homeauto.listPlants(), { plants: [] });
    assert.equal(server.got.length, 2);
  });

  test(`a command without an idempotency key is sent once: ${first.status ?? "a lost connection"}`, async (t) => {
    const server = await scripted(t, { ...first, headers: { ...first.headers, "retry-after": "0" } });
    const error = await errorOf(clientOf(server).homeauto.runScene(HOME, MODULE, { status: "run" }));
    assert(error instanceof DomogateError);
    assert.equal(server.got.length, 1);
    assert.equal(error.mayBeDone, first.status !== 429);
  });

  test(`a command with an idempotency key is repeated with the same key: ${first.status ?? "a lost connection"}`, async (t) => {
    const server = await scripted(t, first, problem(404));
    const command = clientOf(server).home.commandModule(HOME, MODULE, { do: "set light", on: true });
    assert((await errorOf(command)) instanceof NotFound);
    const [sent, again] = server.got;
    assert.match(sent.headers["idempotency-key"], /^[0-9a-f]{32}$/);
    assert.equal(sent.headers["idempotency-key"], again.headers["idempotency-key"]);
    assert.equal(sent.body, '{"do":"set light","on":true}');
    assert.equal(sent.body, again.body);
  });
}

test("a read is repeated only as often as allowed", async (t) => {
  const server = await scripted(t, { drop: true });
  const error = await errorOf(clientOf(server).homeauto.listPlants());
  assert(error instanceof NoAnswer);
  assert.equal(error.mayBeDone, false);
  assert.equal(server.got.length, 3);
});

test("the client waits as long as Retry-After says", async (t) => {
  const server = await scripted(t, problem(429, { "retry-after": "1" }), {});
  await clientOf(server).homeauto.listPlants();
  assert(server.got[1].at - server.got[0].at >= 990);
});

test("it does not wait longer than its deadline", async (t) => {
  const server = await scripted(t, problem(429, { "retry-after": "3600" }));
  const error = await errorOf(clientOf(server).homeauto.listPlants());
  assert(error instanceof faults.TooManyRequests);
  assert.equal(error.retryAfter, 3_600_000);
  assert.equal(server.got.length, 1);
});

test("a gateway that does not run cannot have executed a command", async () => {
  const closed = createServer();
  await new Promise((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${closed.address().port}`;
  await new Promise((resolve) => closed.close(resolve));
  const error = await errorOf(clientOf({ url }).homeauto.runScene(HOME, MODULE, { status: "run" }));
  assert(error instanceof NoAnswer);
  assert.equal(error.mayBeDone, false);
});

test("a silent gateway", async (t) => {
  const server = await scripted(t, { silent: true });
  assert((await errorOf(clientOf(server, { deadline: 100 }).homeauto.listPlants())) instanceof DeadlineExceeded);
  assert((await errorOf(clientOf(server).homeauto.listPlants({ deadline: 100 }))) instanceof DeadlineExceeded);
});

test("the application stops a call", async (t) => {
  const server = await scripted(t, { silent: true });
  const controller = new AbortController();
  const call = clientOf(server).homeauto.listPlants({ signal: controller.signal });
  controller.abort(new Error("stopped"));
  assert.equal((await errorOf(call)).message, "stopped");
});

test("an answer that is too large", async (t) => {
  const server = await scripted(t, { body: " ".repeat(2000) });
  assert((await errorOf(clientOf(server, { maxAnswer: 1000 }).homeauto.listPlants())) instanceof UnexpectedAnswer);
});

test("an answer that has not changed is not sent again", async (t) => {
  const server = await scripted(t, { headers: { etag: '"1"' } }, { status: 304, body: "" });
  const client = clientOf(server);
  assert.deepEqual(await client.homeauto.listPlants(), { plants: [] });
  assert.deepEqual(await client.homeauto.listPlants(), { plants: [] });
  assert.equal(server.got[0].headers["if-none-match"], undefined);
  assert.equal(server.got[1].headers["if-none-match"], '"1"');
});

test("the cache is bounded", () => {
  const cache = new ETagCache(10, 2);
  for (const [url, bytes] of [["a", 4], ["b", 4], ["c", 4], ["d", 11]]) cache.keep(url, '"1"', new Uint8Array(bytes));
  assert.equal(cache.size, 2);
  assert.deepEqual(["a", "b", "c", "d"].map((url) => cache.find(url) !== undefined), [false, true, true, false]);
  cache.keep("b", '"2"', new Uint8Array(9));
  assert.equal(cache.size, 1);
});

test("204 is an empty list", async (t) => {
  const server = await scripted(t, { status: 204, body: "" });
  assert.deepEqual(await clientOf(server).homeauto.listPlants(), { plants: [] });
});

for (const body of ["", "<html>", "null", "1"]) {
  test(`another body is an error of the client: ${body}`, async (t) => {
    const server = await scripted(t, { body });
    assert((await errorOf(clientOf(server).homeauto.listPlants())) instanceof UnexpectedAnswer);
  });
}

test("a redirect is not followed with the token", async (t) => {
  const server = await scripted(t, { status: 302, headers: { location: "/other" }, body: "" });
  assert((await errorOf(clientOf(server).homeauto.listPlants())) instanceof UnexpectedAnswer);
  assert.equal(server.got.length, 1);
});

const REFUSALS = [
  [problem(403), "Forbidden"],
  [problem(404), "NotFound"],
  [problem(404, { "x-fault": "4001" }), "DeviceOffline"],
  [problem(404, { "x-fault": "99999" }), "NotFound"],
  [problem(442), "ValueOutOfRange"],
  [problem(469), "PasswordToRenew"],
  [problem(500), "GatewayFailed"],
  [problem(418), "InvalidRequest"],
  [problem(401, { "www-authenticate": 'SubscriptionKey realm="domogate"' }), "KeyRefused"],
  [problem(401, { "www-authenticate": 'Bearer realm="domogate", error="insufficient_scope", scope="x"' }), "ScopeMissing"],
  [{ status: 404, body: '{"errors":[{"userMessage":"No.","internalMessage":"","code":2002}]}' }, "NoSuchPlant"],
  [{ status: 409, body: '{"title":"","status":409,"detail":"No.","type":"urn:domogate:ticket:used"}' }, "Conflict", "used"],
  [{ status: 409, body: '{"title":"","status":409,"detail":"No.","type":"about:blank"}' }, "Conflict", ""],
  [
    { status: 503, headers: { "retry-after": "3600" }, body: '{"detail":"No.","reason":"device_offline"}' },
    "DeviceOffline",
    "device_offline",
  ],
  [{ status: 404, body: "not JSON" }, "NotFound"],
  [{ status: 404, body: '{"detail":"No.","reason":"constructor"}' }, "NotFound", "constructor"],
];
for (const [step, name, reason = ""] of REFUSALS) {
  test(`each error has its class: ${step.status} ${name} ${reason}`, async (t) => {
    const server = await scripted(t, step);
    const error = await errorOf(clientOf(server).homeauto.listPlants());
    assert.equal(error.constructor.name, name);
    assert.equal(error.status, step.status);
    assert.equal(error.operation, "homeauto.listPlants");
    assert.equal(error.reason, reason);
  });
}

test("an error has the text, the code and the request id", async (t) => {
  const server = await scripted(t, problem(404, { "x-request-id": "abc-1", "x-fault": "2003" }));
  const error = await errorOf(clientOf(server).homeauto.listPlants());
  assert.equal(error.text, "No.");
  assert.equal(error.code, 2003);
  assert.equal(error.requestId, "abc-1");
  assert.match(error.message, /abc-1/);
});

test("the subscription key is sent only to operations that need it", async (t) => {
  const server = await scripted(t, {});
  const client = clientOf(server);
  await client.homeauto.listPlants();
  await client.home.listHomes();
  await client.tickets.redeem({ ticket: "t" });
  const keys = server.got.map(({ headers }) => headers["ocp-apim-subscription-key"]);
  assert.deepEqual(keys, ["secret-key", undefined, undefined]);
});

test("a ticket is redeemed once, without a token", async (t) => {
  const server = await scripted(t, { body: '{"outcome":"confirmed"}' }, problem(503, { "retry-after": "0" }));
  const client = new Client(server.url, { retries: QUICK });
  assert.deepEqual(await client.tickets.redeem({ ticket: "t-1" }), { outcome: "confirmed" });
  assert.equal((await errorOf(client.tickets.redeem({ ticket: "t-1" }))).status, 503);
  const sent = server.got.map(({ method, path, headers, body }) => [method, path, headers.authorization, body]);
  assert.deepEqual(sent, Array(2).fill(["POST", "/tickets/redeem", undefined, '{"ticket":"t-1"}']));
});

test("the picture of a camera is bytes, and its token is sent", async (t) => {
  const server = await scripted(t, { headers: { "content-type": "image/png; x=1" }, body: "PNG" });
  const picture = await new Client(server.url).tickets.picture("of-the-ticket");
  assert.equal(picture.mediaType, "image/png");
  assert.equal(new TextDecoder().decode(picture.data), "PNG");
  assert.equal(server.got[0].headers.authorization, "Bearer of-the-ticket");
});

test("without a token the person must log in", async (t) => {
  const server = await scripted(t, {});
  const error = await errorOf(new Client(server.url).homeauto.listPlants());
  assert(error instanceof LoginRequired);
  assert.equal(server.got.length, 0);
});

test("no error and no object shows a secret", async (t) => {
  const server = await scripted(t, { drop: true }, { drop: true }, { drop: true }, problem(500));
  const client = clientOf(server);
  for (let count = 0; count < 2; count++) {
    const error = await errorOf(client.homeauto.listPlants());
    assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /secret/);
  }
  assert.doesNotMatch(JSON.stringify([client, client.session]) + inspect(client, { depth: 9 }), /secret/);
});

test("ids are written as the family needs them", async (t) => {
  const server = await scripted(t, problem(404));
  const client = clientOf(server);
  for (const spelling of [HOME, HOME.replaceAll("-", ""), HOME.toUpperCase()]) {
    server.got.length = 0;
    await errorOf(client.homectl.readTopology(spelling));
    await errorOf(client.homeauto.readTopology(spelling));
    const paths = server.got.map(({ path }) => path.toLowerCase());
    assert.equal(paths[0], `/homectl/api/v1.0/plants/${HOME.replaceAll("-", "")}/topology`);
    assert.equal(paths[1], `/homeauto/v1.0/plants/${HOME}/topology`);
  }
});

test("a text cannot leave its place in the path", async (t) => {
  const server = await scripted(t, problem(404));
  const client = clientOf(server);
  await errorOf(client.homeauto.readTopology("../../auth?x=#"));
  assert.equal(server.got[0].path, "/homeauto/v1.0/plants/..%2F..%2Fauth%3Fx%3D%23/topology");
  for (const text of ["", ".", ".."]) assert((await errorOf(client.homeauto.readTopology(text))) instanceof TypeError);
  assert.equal(server.got.length, 1);
});

test("the items of all pages are read", async (t) => {
  const server = await scripted(t, { body: '{"items":[1,2],"next":"b"}' }, { body: '{"items":[3],"next":null}' });
  const items = [];
  for await (const item of clientOf(server).management.iterateUsers({ limit: 2 })) items.push(item);
  assert.deepEqual(items, [1, 2, 3]);
  assert.deepEqual(server.got.map(({ path }) => path), ["/manage/v1/users?limit=2", "/manage/v1/users?limit=2&after=b"]);
});

for (const url of ["gateway.example", "ftp://gateway.example", "https://", ""]) {
  test(`a wrong base URL is refused at once: ${url}`, () => {
    assert.throws(() => new Client(url), /baseUrl/);
  });
}
