import "./browser.mjs";
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { check, decode } from "../src/developers/jwt";

const ISSUER = "https://gateway.example/auth";
const NOW = 1_800_000_000;
const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

async function makeKeys(imported, alg) {
  const pair = await webcrypto.subtle.generateKey(imported, true, ["sign", "verify"]);
  return { pair, jwk: { ...(await webcrypto.subtle.exportKey("jwk", pair.publicKey)), kid: "k1", alg, use: "sig" } };
}

const es256 = await makeKeys({ name: "ECDSA", namedCurve: "P-256" }, "ES256");
const keySet = { issuer: ISSUER, keys: [es256.jwk] };

async function sign({ header = {}, claims = {}, key = es256.pair.privateKey, using = { name: "ECDSA", hash: "SHA-256" } } = {}) {
  const signed = `${part({ alg: "ES256", kid: "k1", ...header })}.${part({ iss: ISSUER, exp: NOW + 60, ...claims })}`;
  const signature = await webcrypto.subtle.sign(using, key, new TextEncoder().encode(signed));
  return `${signed}.${Buffer.from(signature).toString("base64url")}`;
}

const find = async (token, keys = keySet) => check(decode(token), keys, NOW);

test("a token of the gateway is good, also with the word Bearer before it", async () => {
  assert.deepEqual(await find(await sign()), ["good"]);
  assert.deepEqual(await find(`Bearer ${await sign()}`), ["good"]);
});

test("RSA keys work too", async () => {
  const rsa = await makeKeys({ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) }, "RS256");
  const token = await sign({ header: { alg: "RS256" }, key: rsa.pair.privateKey, using: "RSASSA-PKCS1-v1_5" });
  assert.deepEqual(await find(token, { issuer: ISSUER, keys: [rsa.jwk] }), ["good"]);
});

test("each mistake is found", async () => {
  assert.deepEqual(await find(await sign({ claims: { exp: NOW } })), ["expired"]);
  assert.deepEqual(await find(await sign({ claims: { exp: undefined } })), ["expired"]);
  assert.deepEqual(await find(await sign({ claims: { nbf: NOW + 5 } })), ["early"]);
  assert.deepEqual(await find(await sign({ claims: { iss: "https://evil.example" } })), ["issuer"]);
  assert.deepEqual(await find(await sign({ header: { kid: "k2" } })), ["kid"]);
  assert.deepEqual(await find(await sign({ header: { kid: undefined } })), ["kid"]);
  assert.deepEqual(await find(await sign({ header: { alg: "none" } })), ["algorithm"]);
  assert.deepEqual(await find(await sign({ header: { alg: "RS256" } })), ["algorithm"], "the key is for ES256");
  const [header, , signature] = (await sign()).split(".");
  assert.deepEqual(await find(`${header}.${part({ iss: ISSUER, exp: NOW + 60, scope: "more" })}.${signature}`), ["signature"]);
});

test("other texts are not tokens", () => {
  for (const text of ["", "abc", "a.b", "a.b.c", "dgk_abcdefgh", `${part([])}.${part({})}.x`, "Bearer"]) assert.equal(decode(text), null, text);
});
