import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { api } from "../src/app/api";
import { reachable } from "../src/app/reachable";
import { path } from "../src/app/router";
import { wanted } from "../src/app/session";

/** Answers in place of a gateway whose login of this browser ended. Requests with a token are refused as slowly as a test wants. */
function endLogin(hasTokens) {
  const asked = [];
  let tokens = hasTokens;
  const held = [];
  globalThis.fetch = async (address) => {
    const { pathname, searchParams } = new URL(address, location);
    asked.push(pathname);
    if (pathname === "/auth/token") return Response.json({ access_token: "a", id_token: "e30.e30.", expires_in: 600, scope: "home.use" });
    if (pathname === "/auth/authorize") {
      const result = tokens ? { code: "c" } : { error: "login_required" };
      tokens = false;
      const answer = new URLSearchParams({ state: searchParams.get("state"), iss: `${location.origin}/auth`, ...result });
      return { ok: true, status: 200, url: `${location.origin}/signed-in?${answer}` };
    }
    if (pathname.endsWith("/slow")) await new Promise((resolve) => held.push(resolve));
    return Response.json({}, { status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' } });
  };
  return { asked, held };
}

const loggedOut = ({ status }) => status === 401;

test("requests that find out that the login ended do not say that the gateway cannot be reached", async () => {
  const { asked, held } = endLogin(true);
  const slow = api.get("/home/v1/slow");
  while (!held.length) await new Promise(setImmediate);
  await assert.rejects(api.get("/home/v1/homes"), loggedOut);
  assert.equal(path.value, "/");
  assert.equal(wanted.value, "/homes/4c0a/rooms/the%20kitchen?day=2");
  held.forEach((answer) => answer());
  await assert.rejects(slow, loggedOut);
  assert.equal(wanted.value, "/homes/4c0a/rooms/the%20kitchen?day=2", "the door leads back to the page");
  assert.ok(reachable.value);
  assert.equal(asked.filter((one) => one === "/auth/token").length, 1);
});

test("without a login the gateway is asked once for it", async () => {
  const { asked } = endLogin(false);
  await assert.rejects(api.get("/home/v1/homes"), loggedOut);
  assert.deepEqual(asked, ["/auth/authorize"]);
  assert.ok(reachable.value);
});
