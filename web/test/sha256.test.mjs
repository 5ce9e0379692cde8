import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { sha256 } from "../src/app/sha256";

test("it agrees with another implementation for every length up to three blocks", () => {
  for (let length = 0; length < 200; length++) {
    const message = randomBytes(length);
    assert.equal(Buffer.from(sha256(message)).toString("hex"), createHash("sha256").update(message).digest("hex"));
  }
});
