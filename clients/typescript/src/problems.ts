/** Reads the bodies of answers with an error: the errors of the families, and problems (RFC 9457). */

import type { Refusal } from "./errors.js";
import type { Answer } from "./http.js";
import { retryAfterOf } from "./retries.js";

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

/** What an answer with a status of 400 or more says. The text is empty if the answer has none; `code` is 0 without a fault. */
export function readRefusal({ status, headers, body }: Answer, operation: string): Refusal & { readonly code: number } {
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
  return {
    text: text.slice(0, LONGEST_TEXT),
    status,
    operation,
    requestId: headers.get("x-request-id") ?? "",
    reason,
    retryAfter: retryAfterOf(headers),
    code,
  };
}
