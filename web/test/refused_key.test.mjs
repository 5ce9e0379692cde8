import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedSince } from "../src/developers/applications";

const PAST = "2026-01-01T00:00:00Z";

test("a developer sees that a key is revoked or has expired", () => {
  assert.equal(refusedSince({ expiresAt: null, revokedAt: null }), null);
  assert.equal(refusedSince({ expiresAt: "2999-01-01T00:00:00Z", revokedAt: null }), null);
  assert.equal(refusedSince({ expiresAt: PAST, revokedAt: null }), PAST);
  assert.equal(refusedSince({ expiresAt: null, revokedAt: PAST }), PAST);
});
