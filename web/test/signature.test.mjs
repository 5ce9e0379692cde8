import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { verify } from "../src/developers/signature";

// The example of the Standard Webhooks specification.
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = '{"test": 2432232314}';
const HEADERS = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const THEN = 1_614_265_330;

test("the signature of the specification's example is right", async () => {
  assert.equal(await verify(SECRET, HEADERS, BODY, THEN), "good");
  assert.equal(await verify(SECRET, { ...HEADERS, "webhook-signature": `v1,AAAA ${HEADERS["webhook-signature"]}` }, BODY, THEN), "good");
});

test("each mistake is found", async () => {
  assert.equal(await verify(SECRET, HEADERS, `${BODY} `, THEN), "wrong");
  assert.equal(await verify("whsec_AAAA", HEADERS, BODY, THEN), "wrong");
  assert.equal(await verify(SECRET, { ...HEADERS, "webhook-signature": "v2,AAAA" }, BODY, THEN), "wrong");
  assert.equal(await verify(SECRET, HEADERS, BODY, THEN + 301), "old");
  assert.equal(await verify(SECRET, {}, BODY, THEN), "missing");
  assert.equal(await verify("whsec_", HEADERS, BODY, THEN), "no_secret");
  assert.equal(await verify("whsec_*", HEADERS, BODY, THEN), "no_secret");
});
