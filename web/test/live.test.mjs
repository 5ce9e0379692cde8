import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { listen } from "../src/app/live";

test("without a login a stream is not live, and closing it ends the attempts", async () => {
  const stream = listen({ plant: ["a", "b"] }, () => assert.fail("there are no events"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(stream.liveness.value.live, false);
  assert.ok(stream.liveness.value.since instanceof Date);
  stream.close();
});
