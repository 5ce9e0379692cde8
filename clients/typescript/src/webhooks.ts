/** Checks the deliveries of webhooks: the signatures of the Standard Webhooks specification. */

import { WebhookNotVerified } from "./errors.js";
import { type CloudEvent, readEvent } from "./events.js";
import type { ChronothermostatStatus } from "./models/thermostat.js";

/** The milliseconds by which the time of a delivery may differ from the clock of the receiver. */
const TOLERANCE = 300_000;
const MAX_BODY = 1_000_000;
const PREFIX = "whsec_";
const VERSION = "v1,";

/** Headers of a request: of `fetch`, or of `node:http`. */
export type DeliveryHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** The milliseconds by which the clocks may differ. Default: five minutes. */
  readonly tolerance?: number;
  /** The time of the receiver, as `Date.now()`. */
  readonly now?: number;
}

/** A notification of a thermostat subscription (X6): the state of a chronothermostat. */
export interface Notification {
  readonly id: string;
  readonly eventType: string;
  readonly subject: string;
  readonly eventTime: string;
  readonly data: ChronothermostatStatus;
}

/**
 * Return the event of a delivery. Throws `WebhookNotVerified` if it is not signed with the secret, or is too old.
 *
 * `secret` may be several secrets, for the time when a secret is renewed. `body` is the body as it came, not parsed.
 */
export async function verify(
  secret: string | readonly string[],
  headers: DeliveryHeaders,
  body: Uint8Array | string,
  options: VerifyOptions = {},
): Promise<CloudEvent> {
  return readEvent(await check(secret, headers, body, options));
}

/** Return the notifications of a delivery to a thermostat subscription. Throws `WebhookNotVerified` as `verify` does. */
export async function verifyNotifications(
  secret: string | readonly string[],
  headers: DeliveryHeaders,
  body: Uint8Array | string,
  options: VerifyOptions = {},
): Promise<Notification[]> {
  const text = await check(secret, headers, body, options);
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value as Notification[];
  } catch {
    // The error below says the same.
  }
  throw new WebhookNotVerified("the delivery is no list of notifications");
}

/** The id of a delivery. It is the same at every attempt, so a receiver can recognise a repeated delivery. */
export function deliveryId(headers: DeliveryHeaders): string {
  return find(headers, "webhook-id");
}

/** The body of a delivery, if its signature is right. */
async function check(
  secret: string | readonly string[],
  headers: DeliveryHeaders,
  given: Uint8Array | string,
  options: VerifyOptions,
): Promise<string> {
  const body = typeof given === "string" ? new TextEncoder().encode(given) : given;
  if (body.length > MAX_BODY) throw new WebhookNotVerified(`the body is larger than ${MAX_BODY} bytes`);
  const timestamp = find(headers, "webhook-timestamp");
  const distance = Math.abs((options.now ?? Date.now()) - Number(timestamp) * 1000);
  if (!/^\d{1,12}$/.test(timestamp) || distance > (options.tolerance ?? TOLERANCE)) {
    throw new WebhookNotVerified("the time of the delivery is missing, too old or in the future");
  }
  const begin = new TextEncoder().encode(`${find(headers, "webhook-id")}.${timestamp}.`);
  const message = new Uint8Array(begin.length + body.length);
  message.set(begin);
  message.set(body, begin.length);
  const signatures = find(headers, "webhook-signature").split(/\s+/).filter((one) => one.startsWith(VERSION));
  for (const one of [secret].flat()) {
    const bytes = decode(one.startsWith(PREFIX) ? one.slice(PREFIX.length) : one);
    if (!bytes?.length) throw new WebhookNotVerified("the secret is not whsec_ and Base64");
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) {
      const sent = decode(signature.slice(VERSION.length));
      // The comparison takes the same time for every signature.
      if (sent && (await crypto.subtle.verify("HMAC", key, sent, message))) return new TextDecoder().decode(body);
    }
  }
  throw new WebhookNotVerified("no signature of the delivery belongs to the secret");
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The value of a header, whose name may be in any case. */
function find(headers: DeliveryHeaders, name: string): string {
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const value = pairs.find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== "string" || !value) throw new WebhookNotVerified(`the header ${name} is missing`);
  return value;
}
