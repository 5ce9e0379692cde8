// The login of a program in Node: the server at the loopback address.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { DomogateError, LoginFailed } from "@domogate/client";
import { logIn } from "@domogate/client/node";
import { errorOf, scripted } from "./scripted.mjs";

const TOKENS = '{"access_token":"of-the-login","refresh_token":"r-1","expires_in":600,"scope":"openid light.read"}';

/** Log in; `visit` gets the URL of the authorization endpoint and its fields. */
const start = (server, visit, settings = {}) =>
  logIn(server.url, "my-app", ["light.read"], { ...settings, openBrowser: (url) => visit(new URL(url).searchParams) });

const answerOf = (server, fields, more = { code: "c-1" }) =>
  `${fields.get("redirect_uri")}?${new URLSearchParams({ state: fields.get("state"), iss: `${server.url}/auth`, ...more })}`;

test("a person logs in, and the session has the tokens", async (t) => {
  const server = await scripted(t, { body: TOKENS });
  const pages = [];
  const session = await start(server, async (fields) => {
    const page = await fetch(answerOf(server, fields));
    pages.push(page.status, page.headers.get("content-type"), await page.text());
  });
  assert.equal(session.tokens.accessToken, "of-the-login");
  assert.deepEqual(pages.slice(0, 2), [200, "text/html; charset=utf-8"]);
  assert.match(pages[2], /You can close this page/);
  const form = new URLSearchParams(server.got[0].body);
  assert.match(form.get("redirect_uri"), /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  assert.equal(form.get("code"), "c-1");
});

test("requests of other programs do not end the wait, and the port is free after the login", async (t) => {
  const server = await scripted(t, { body: TOKENS });
  const statuses = [];
  let place;
  await start(server, async (fields) => {
    place = fields.get("redirect_uri");
    const right = answerOf(server, fields);
    for (const url of [place, `${place}?state=x&code=y`, right.replace("/callback?", "/other?")]) statuses.push((await fetch(url)).status);
    statuses.push((await fetch(right, { method: "POST" })).status, (await fetch(right)).status);
  });
  assert.deepEqual(statuses, [404, 404, 404, 404, 200]);
  await assert.rejects(fetch(place));
});

test("a connection that sends nothing does not keep the program", async (t) => {
  const server = await scripted(t, { body: TOKENS });
  let ended;
  await start(server, async (fields) => {
    const { port } = new URL(fields.get("redirect_uri"));
    const silent = connect(Number(port), "127.0.0.1");
    silent.on("error", () => undefined);
    ended = new Promise((resolve) => silent.once("close", resolve));
    await new Promise((resolve) => silent.once("connect", resolve));
    await fetch(answerOf(server, fields));
  });
  await ended;
});

test("a person who refuses", async (t) => {
  const server = await scripted(t, { body: TOKENS });
  const failed = await errorOf(start(server, (fields) => fetch(answerOf(server, fields, { error: "access_denied" }))));
  assert(failed instanceof LoginFailed);
  assert.equal(failed.error, "access_denied");
  assert.equal(server.got.length, 0);
});

test("a person who does nothing, and a program that stops the login", async (t) => {
  const server = await scripted(t, { body: TOKENS });
  assert.equal((await errorOf(start(server, () => undefined, { patience: 20 }))).error, "timeout");
  const controller = new AbortController();
  const stopped = start(server, () => controller.abort(new Error("stopped")), { signal: controller.signal });
  assert.equal((await errorOf(stopped)).message, "stopped");
});

test("a browser that cannot be opened ends the login", async (t) => {
  const server = await scripted(t, { body: TOKENS });
  const failed = await errorOf(start(server, () => Promise.reject(new Error("no browser"))));
  assert.equal(failed.message, "no browser");
});

for (const redirectUri of ["https://127.0.0.1/callback", "http://gateway.example/callback", "http://0.0.0.0/", "no URL"]) {
  test(`the redirect stays on this machine: ${redirectUri}`, async () => {
    const failed = await errorOf(logIn("http://127.0.0.1:1", "my-app", [], { redirectUri, openBrowser: () => undefined }));
    assert.equal(failed.error, "wrong_redirect_uri");
  });
}

test("a port that another program uses is an error with its address", async (t) => {
  const other = createServer(() => undefined);
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.after(() => other.close());
  const redirectUri = `http://127.0.0.1:${other.address().port}/callback`;
  const failed = await errorOf(logIn("http://127.0.0.1:1", "my-app", [], { redirectUri, openBrowser: () => undefined }));
  assert(failed instanceof DomogateError);
  assert.match(failed.message, /cannot listen at http:\/\/127\.0\.0\.1:\d+\/callback: .*EADDRINUSE/);
});
