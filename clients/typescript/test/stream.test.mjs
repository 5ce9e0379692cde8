// Event streams: parsing, resuming and ending, against a server that answers as the test says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, isModuleEvent, isPlantEvent, NoAnswer, Session, StreamEnded, UnexpectedAnswer } from "@domogate/client";
import { errorOf, problem, scripted, TOKENS } from "./scripted.mjs";

const event = (id, kind = "state", data = { plantId: "p", moduleId: "m", name: "Lamp" }) =>
  `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify({
    specversion: "1.0", id: String(id), source: "s", type: `domogate.${kind}`, subject: "x", time: "t", data,
  })}\n\n`;
const stream = (...texts) => ({ headers: { "content-type": "text/event-stream" }, body: `retry: 1\n${texts.join("")}` });
const READY = 'id: 1\nevent: ready\ndata: {"cursor":1}\n\n';
const end = (code) => `event: end\ndata: {"code":"${code}","detail":"Why."}\n\n`;
const clientOf = (server, settings = { tokens: TOKENS }) => new Client(server.url, settings);

/** The first items of a stream. */
async function take(stream, count) {
  const items = [];
  for await (const item of stream) if (items.push(item) === count) break;
  return items;
}

for (const lost of [{ ...stream(READY, event(2)), cut: true }, stream(READY, event(2)), stream(READY, event(2), end("draining"))]) {
  test(`a stream continues after its last event: ${lost.cut ? "lost" : lost.body.includes("draining") ? "draining" : "ended"}`, async (t) => {
    const server = await scripted(t, lost, stream(event(3)), { silent: true });
    const events = clientOf(server).events.listen({ plant: ["p", "q"], present: true });
    const items = await take(events, 3);
    assert.deepEqual(items.map(({ type }) => type), ["ready", "domogate.state", "domogate.state"]);
    assert.equal(events.cursor, "3");
    const [first, second] = server.got;
    assert.equal(first.path, "/events?plant=p&plant=q&present=true");
    assert.equal(first.headers["last-event-id"], undefined);
    assert.equal(second.headers["last-event-id"], "2");
  });
}

test("a stream begins after the cursor of the application", async (t) => {
  const server = await scripted(t, stream(READY));
  await take(clientOf(server).events.listen({}, { cursor: "77" }), 1);
  assert.equal(server.got[0].headers["last-event-id"], "77");
});

test("items are distinguished by their kind", async (t) => {
  const server = await scripted(t, stream(event(1), event(2, "people"), event(3, "new"), 'event: reset\ndata: {"code":"unknown"}\n\n'));
  const items = await take(clientOf(server).events.listen(), 4);
  assert.deepEqual(items.map(isModuleEvent), [true, false, false, false]);
  assert.deepEqual(items.map(isPlantEvent), [false, true, false, false]);
  assert.equal(items[3].type, "reset");
});

test("an event in several chunks, with comments and other line ends", async (t) => {
  const text = `: heartbeat\r\n${event(1).replaceAll("\n", "\r\n")}`.replace("Lamp", "Lampe ü");
  const bytes = new TextEncoder().encode(text);
  const parts = Array.from(bytes, (byte) => Uint8Array.of(byte));
  const fetch = async () => new Response(new ReadableStream({ pull: (to) => (parts.length ? to.enqueue(parts.shift()) : to.close()) }));
  const [item] = await take(new Client("http://127.0.0.1:1", { tokens: TOKENS, fetch }).events.listen(), 1);
  assert.equal(item.data.name, "Lampe ü");
});

test("the data of an event may have several lines", async (t) => {
  const text = event(1).replace('"source"', '\ndata:"source"').replace("data: {", "data:{");
  assert.equal(text.match(/^data:/gm).length, 2);
  const server = await scripted(t, stream(text));
  assert.equal((await take(clientOf(server).events.listen(), 1))[0].source, "s");
});

test("a reason that needs a change ends the stream", async (t) => {
  const server = await scripted(t, stream(READY, end("key")));
  const error = await errorOf(take(clientOf(server).events.listen(), 9));
  assert(error instanceof StreamEnded);
  assert.equal(error.code, "key");
  assert.equal(server.got.length, 1);
});

test("a stream whose token expired continues with a new token", async (t) => {
  const fresh = { body: '{"access_token":"new","expires_in":3600}' };
  const server = await scripted(t, stream(READY, end("token")), fresh, stream(event(2)));
  const session = new Session({ tokens: { accessToken: "old", refreshToken: "r" } });
  await take(clientOf(server, { session }).events.listen(), 2);
  assert.deepEqual(server.got.map(({ headers }) => headers.authorization), ["Bearer old", undefined, "Bearer new"]);
});

test("a stream continues when the token endpoint was not available for a while", async (t) => {
  const fresh = { body: '{"access_token":"new","expires_in":3600}' };
  const down = [503, 503, 503].map((status) => problem(status));
  const server = await scripted(t, stream(READY, end("token")), ...down, fresh, stream(event(2)));
  const session = new Session({ tokens: { accessToken: "old", refreshToken: "r" } });
  assert.equal((await take(clientOf(server, { session }).events.listen(), 2)).length, 2);
});

test("closing ends the loop, also during a refresh", async (t) => {
  const controller = new AbortController();
  const session = new Session({ tokens: { accessToken: "old", refreshToken: "r", expiresAt: 1 } });
  const fetch = () => {
    setTimeout(() => controller.abort(), 10);
    return new Promise(() => undefined);
  };
  const client = new Client("http://127.0.0.1:1", { session, fetch });
  const began = performance.now();
  assert.deepEqual(await take(client.events.listen({}, { signal: controller.signal }), 1), []);
  assert(performance.now() - began < 2_000);
});

test("a refused stream is an error, and an overloaded gateway is asked again", async (t) => {
  const server = await scripted(t, problem(503), problem(403));
  const client = clientOf(server);
  const listening = client.events.listen();
  assert.equal((await errorOf(take(listening, 1))).status, 403);
  assert.equal(server.got.length, 2);
});

test("another form of an event is an error", async (t) => {
  const server = await scripted(t, stream("event: state\ndata: {}\n\n"));
  assert((await errorOf(take(clientOf(server).events.listen(), 1))) instanceof UnexpectedAnswer);
});

test("a stream gives up if the application wants it", async (t) => {
  const server = await scripted(t, stream(READY), { drop: true });
  const error = await errorOf(take(clientOf(server, { tokens: TOKENS, reconnectFor: 0 }).events.listen(), 2));
  assert(error instanceof NoAnswer);
});

test("closing ends the loop, also while nothing comes", async (t) => {
  const server = await scripted(t, { ...stream(READY), silent: true });
  const controller = new AbortController();
  const items = [];
  for await (const item of clientOf(server).events.listen({}, { signal: controller.signal })) {
    items.push(item);
    setTimeout(() => controller.abort(), 10);
  }
  assert.equal(items.length, 1);
});
