import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { listen, parseBlock } from "../src/app/live";

test("a block of the stream has its id, event and data", () => {
  assert.deepEqual(parseBlock('id: 7\nevent: state\ndata: {"a":1}'), { id: "7", event: "state", data: '{"a":1}' });
  assert.deepEqual(parseBlock("data: 1\r\ndata:2"), { id: "", event: "message", data: "1\n2" });
  assert.deepEqual(parseBlock(": heartbeat"), { id: "", event: "message", data: "" });
});

test("without a login a stream is not live, and closing it ends the attempts", async () => {
  const stream = listen({ plant: ["a", "b"] }, () => assert.fail("there are no events"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(stream.liveness.value.live, false);
  assert.ok(stream.liveness.value.since instanceof Date);
  stream.close();
});
