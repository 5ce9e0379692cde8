// Signatures of deliveries.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { deliveryId, verify, verifyNotifications, WebhookNotVerified } from "@domogate/client";
import { errorOf } from "./scripted.mjs";

const SECRET = `whsec_${Buffer.from("a secret of a webhook").toString("base64")}`;
const OTHER = `whsec_${Buffer.from("another secret").toString("base64")}`;
const NOW = 1_800_000_000_000;
const EVENT = JSON.stringify({ specversion: "1.0", id: "1", source: "s", type: "domogate.test", subject: "x", time: "t" });

function deliver(body, { secret = SECRET, at = NOW / 1000 } = {}) {
  const key = Buffer.from(secret.slice(6), "base64");
  const signature = createHmac("sha256", key).update(`d-1.${at}.${body}`).digest("base64");
  return { "webhook-id": "d-1", "webhook-timestamp": String(at), "webhook-signature": `v1,AAAA v2,x v1,${signature}` };
}

test("a signed delivery is an event", async () => {
  const headers = deliver(EVENT);
  for (const body of [EVENT, new TextEncoder().encode(EVENT)]) {
    assert.equal((await verify(SECRET, headers, body, { now: NOW })).type, "domogate.test");
  }
  assert.equal((await verify(SECRET, new Headers(headers), EVENT, { now: NOW })).id, "1");
  assert.equal((await verify([OTHER, SECRET], headers, EVENT, { now: NOW })).id, "1");
  assert.equal(deliveryId({ "Webhook-Id": "d-1" }), "d-1");
});

test("notifications of a thermostat subscription", async () => {
  const body = '[{"id":"1"}]';
  assert.deepEqual(await verifyNotifications(SECRET, deliver(body), body, { now: NOW }), [{ id: "1" }]);
  assert((await errorOf(verifyNotifications(SECRET, deliver("{}"), "{}", { now: NOW }))) instanceof WebhookNotVerified);
});

const right = deliver(EVENT);
const WRONG = {
  "another secret": [OTHER, right, EVENT],
  "another body": [SECRET, right, `${EVENT} `],
  "another time": [SECRET, { ...right, "webhook-timestamp": String(NOW / 1000 + 1) }, EVENT],
  "another id": [SECRET, { ...right, "webhook-id": "d-2" }, EVENT],
  "an old delivery": [SECRET, deliver(EVENT, { at: NOW / 1000 - 301 }), EVENT],
  "a delivery of the future": [SECRET, deliver(EVENT, { at: NOW / 1000 + 301 }), EVENT],
  "no signature": [SECRET, { ...right, "webhook-signature": "" }, EVENT],
  "a broken signature": [SECRET, { ...right, "webhook-signature": "v1,%%%" }, EVENT],
  "a large body": [SECRET, right, "x".repeat(1_000_001)],
  "a broken secret": ["whsec_%%%", right, EVENT],
  "an empty secret": ["", right, EVENT],
};
for (const [name, [secret, headers, body]] of Object.entries(WRONG)) {
  test(`refused: ${name}`, async () => {
    assert((await errorOf(verify(secret, headers, body, { now: NOW }))) instanceof WebhookNotVerified);
  });
}
