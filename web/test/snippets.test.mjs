import "./browser.mjs";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { writeCode } from "../src/developers/snippets";

const DIFFICULT = `{"name":"it's \\"$HOME\\" \`id\` \\\\ ü\\n"}`;
const call = { method: "POST", url: "http://127.0.0.1:9/a?b=1&c='2'", headers: { Authorization: "Bearer x'y" }, body: DIFFICULT };

test("a shell passes every character of a curl command on", () => {
  const script = writeCode("curl", call).replace("curl -i", "printf '%s\\n'");
  const words = execFileSync("sh", ["-c", script], { encoding: "utf8" });
  assert.equal(words, `${call.url}\n-H\nAuthorization: Bearer x'y\n-d\n${DIFFICULT}\n`);
});

test("the code for TypeScript sends the call as it is", async () => {
  const sent = [];
  const fetch = async (url, options) => {
    sent.push({ url, ...options });
    return { status: 200, text: async () => "" };
  };
  const run = new Function("fetch", "console", `return (async () => { ${writeCode("typescript", call)} })()`);
  await run(fetch, { log: () => undefined });
  assert.deepEqual(sent, [call]);
});

test("a call without a body is a GET without a method for curl", () => {
  assert.equal(writeCode("curl", { ...call, method: "GET", headers: {}, body: null, url: "http://a/" }), "curl -i 'http://a/'");
  assert.match(writeCode("curl", { ...call, method: "DELETE", body: null }), /^curl -i -X DELETE /);
  assert.doesNotMatch(writeCode("python", { ...call, method: "GET", body: null }), /data=/);
});
