/** Finds the error class for an answer with an error status. */

import { Conflict, Forbidden, GatewayFailed, InvalidRequest, NotFound, Refused, TooManyRequests, Unavailable } from "./errors.js";
import * as faults from "./faults.js";
import type { Answer } from "./http.js";
import { readRefusal } from "./problems.js";

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
  503: Unavailable,
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

/** The error for an answer with a status of 400 or more. */
export function refusalOf(answer: Answer, operation: string): Refused {
  const { status, headers } = answer;
  const { code, ...refusal } = readRefusal(answer, operation);
  const known = status === 503 && code === faults.Internal.code ? undefined : faults.BY_CODE[code];
  const kind =
    known ?? BY_REASON.get(refusal.reason) ?? classOf(status, headers.get("www-authenticate") ?? "");
  return new kind({ ...refusal, text: refusal.text || `the gateway answered with the status ${status}` });
}

/** Whether the gateway may have executed a request that it answered with this refusal. */
export function isUncertain(refusal: Refused): boolean {
  return refusal instanceof GatewayFailed || refusal instanceof faults.DeviceTimeout;
}

function classOf(status: number, challenge: string): RefusedClass {
  if (challenge.startsWith("SubscriptionKey")) return faults.KeyRefused;
  if (challenge.includes('error="insufficient_scope"')) return faults.ScopeMissing;
  return BY_STATUS[status] ?? (status >= 500 ? GatewayFailed : InvalidRequest);
}
