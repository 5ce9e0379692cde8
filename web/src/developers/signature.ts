/** Verifies the signature of a webhook delivery (Standard Webhooks 1.0), in the browser. */

/** Each has a text `developers.webhooks.signature_NAME`. */
export type Verdict = "good" | "wrong" | "old" | "missing" | "no_secret" | "insecure";

const TOLERANCE = 300; // seconds

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

export async function verify(secret: string, headers: Readonly<Record<string, string>>, body: string, now: number): Promise<Verdict> {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const signatures = headers["webhook-signature"];
  if (!id || !timestamp || !signatures) return "missing";
  const key = bytesOf(secret.trim().replace(/^whsec_/, ""));
  if (!key?.length) return "no_secret";
  if (!globalThis.crypto?.subtle) return "insecure";
  const ready = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const signature of signatures.split(" ")) {
    const given = signature.startsWith("v1,") ? bytesOf(signature.slice(3)) : null;
    // The comparison of the browser takes the same time for every wrong signature.
    if (given && (await crypto.subtle.verify("HMAC", ready, given, signed))) return Math.abs(now - Number(timestamp)) <= TOLERANCE ? "good" : "old";
  }
  return "wrong";
}
