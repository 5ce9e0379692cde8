/** Reads a token and checks its signature with the public keys of the gateway, in the browser. Nothing is sent. */

export interface Decoded {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The first two parts, which are signed. */
  readonly signed: string;
  readonly signature: Uint8Array<ArrayBuffer>;
}

export interface KeySet {
  readonly issuer: string;
  readonly keys: readonly (JsonWebKey & { readonly kid?: string })[];
}

/** What is wrong, or `good`. Each has a text `developers.token.NAME`. */
export type Finding = "good" | "issuer" | "kid" | "algorithm" | "signature" | "expired" | "early" | "insecure";

const ALGORITHMS: Readonly<Record<string, [AlgorithmIdentifier | EcKeyImportParams | RsaHashedImportParams, AlgorithmIdentifier | EcdsaParams]>> = {
  ES256: [{ name: "ECDSA", namedCurve: "P-256" }, { name: "ECDSA", hash: "SHA-256" }],
  RS256: [{ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, "RSASSA-PKCS1-v1_5"],
  EdDSA: ["Ed25519", "Ed25519"],
};

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

function objectOf(part: string): Record<string, unknown> {
  const found: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(part)));
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw new Error("not an object");
  return found as Record<string, unknown>;
}

/** The parts of a signed token (RFC 7519), or null if the text is not one. */
export function decode(token: string): Decoded | null {
  const parts = token.trim().replace(/^Bearer\s+/i, "").split(".");
  const [header, claims, signature] = parts;
  if (parts.length !== 3 || !header || !claims || signature === undefined) return null;
  try {
    return { header: objectOf(header), claims: objectOf(claims), signed: `${header}.${claims}`, signature: bytesOf(signature) };
  } catch {
    return null;
  }
}

/** All that is wrong with the token, most important first. */
export async function check({ header, claims, signed, signature }: Decoded, { issuer, keys }: KeySet, now: number): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  if (claims.iss !== issuer) found.push("issuer");
  const key = keys.find(({ kid }) => kid !== undefined && kid === header.kid);
  const algorithm = typeof header.alg === "string" && Object.hasOwn(ALGORITHMS, header.alg) ? ALGORITHMS[header.alg] : undefined;
  if (!algorithm || (key?.alg !== undefined && key.alg !== header.alg)) found.push("algorithm");
  else if (!key) found.push("kid");
  else if (!globalThis.crypto?.subtle) found.push("insecure");
  else if (!(await verify(key, algorithm, signed, signature))) found.push("signature");
  if (typeof claims.exp !== "number" || claims.exp <= now) found.push("expired");
  if (typeof claims.nbf === "number" && claims.nbf > now) found.push("early");
  return found.length ? found : ["good"];
}

async function verify(key: JsonWebKey, [imported, used]: NonNullable<(typeof ALGORITHMS)[string]>, signed: string, signature: Uint8Array<ArrayBuffer>): Promise<boolean> {
  // `use` and `key_ops` of the key set do not matter here: the key only verifies.
  const { use: _use, key_ops: _ops, ...jwk } = key;
  try {
    const ready = await crypto.subtle.importKey("jwk", jwk, imported, false, ["verify"]);
    return await crypto.subtle.verify(used, ready, signature, new TextEncoder().encode(signed));
  } catch {
    return false;
  }
}
