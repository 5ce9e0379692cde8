/** Finds the error class for an answer with an error status. */

import { Conflict, Forbidden, GatewayFailed, InvalidRequest, NotFound, Refused, TooManyRequests } from "./errors.js";
import * as faults from "./faults.js";

type RefusedClass = typeof Refused;

const BY_STATUS: Readonly<Record<number, RefusedClass>> = {
  401: faults.TokenRefused,
  403: Forbidden,
  404: NotFound,
  408: faults.DeviceTimeout,
  409: Conflict,
  410: Conflict,
  413: faults.BodyTooLarge,
  429: TooManyRequests,
  442: faults.ValueOutOfRange,
  469: faults.PasswordToRenew,
  470: faults.TermsToAccept,
};
/** A map, because the reason is a text of the answer, and every object has names such as `constructor`. */
const BY_REASON = new Map<string, RefusedClass>([
  ["device_offline", faults.DeviceOffline],
  ["device-offline", faults.DeviceOffline],
  ["device_timeout", faults.DeviceTimeout],
  ["device-timeout", faults.DeviceTimeout],
  ["device_refused", faults.DeviceRefused],
  ["device-refused", faults.DeviceRefused],
  ["no-such-device", faults.NoSuchModule],
]);
const LONGEST_TEXT = 500;

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in a body; an empty object for a body that is something else. */
export function readObject(body: Uint8Array): Json {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The error for an answer with a status of 400 or more. */
export function refusalOf(status: number, headers: Headers, body: Uint8Array, operation: string): Refused {
  const document = readObject(body);
  let text = textOf(document["message"]) || textOf(document["detail"]);
  let code = Number(headers.get("x-fault") ?? 0);
  let reason = "";
  const first: unknown = Array.isArray(document["errors"]) ? document["errors"][0] : undefined;
  if (isObject(first)) {
    text = textOf(first["userMessage"]);
    code ||= Number(first["code"] ?? 0);
  } else if ("detail" in document) {
    const type = textOf(document["type"]);
    reason = textOf(document["reason"]) || (type === "about:blank" ? "" : type.slice(type.lastIndexOf(":ticket:") + 1));
    reason = reason.replace(/^ticket:/, "");
  }
  const kind = faults.BY_CODE[code] ?? BY_REASON.get(reason) ?? classOf(status, headers.get("www-authenticate") ?? "");
  return new kind({
    text: (text || `the gateway answered with the status ${status}`).slice(0, LONGEST_TEXT),
    status,
    operation,
    requestId: headers.get("x-request-id") ?? "",
    reason,
    retryAfter: retryAfterOf(headers),
  });
}

function classOf(status: number, challenge: string): RefusedClass {
  if (challenge.startsWith("SubscriptionKey")) return faults.KeyRefused;
  if (challenge.includes('error="insufficient_scope"')) return faults.ScopeMissing;
  return BY_STATUS[status] ?? (status >= 500 ? GatewayFailed : InvalidRequest);
}

/** The value of Retry-After in milliseconds. The gateway sends seconds; a proxy before it may send a date. */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after") ?? "";
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  const date = value.endsWith(" GMT") ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Whether a new token can help: the token was sent and is not valid (RFC 6750 §3.1). */
export function isExpiredToken(status: number, headers: Headers): boolean {
  return status === 401 && (headers.get("www-authenticate") ?? "").includes('error="invalid_token"');
}
