/** One HTTP call as the portal shows and sends it. */

import { signal } from "@preact/signals";
import { ApiError } from "../app/api";
import { config } from "../app/config";
import { accessToken } from "../app/session";

export const KEY_HEADER = "Ocp-Apim-Subscription-Key";

/** The subscription key of the reader. It is only in memory, as the token. */
export const subscriptionKey = signal(config.demoKey ?? "");

export interface Call {
  readonly method: string;
  /** The whole address. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null if the call has no body. */
  readonly body: string | null;
}

/** A GET, or a POST if there is a body. */
export function makeCall(path: string, headers: Readonly<Record<string, string>>, body?: unknown): Call {
  const url = config.origin + path;
  if (body === undefined) return { method: "GET", url, headers, body: null };
  return { method: "POST", url, headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** What replaces a secret on the screen until the reader wants to see it. */
export const HIDDEN = "••••••••";

/** The call with this token, or with dots instead of the token. */
export function withToken(call: Call, token: string | null): Call {
  return { ...call, headers: { Authorization: `Bearer ${token ?? HIDDEN}`, ...call.headers } };
}

export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly milliseconds: number;
  /** The body as text, or the address of an image or a file. */
  readonly body: { readonly text: string } | { readonly url: string; readonly type: string; readonly bytes: number };
  /** Why the body is not complete. */
  readonly cut: "size" | "time" | null;
}

const MOST = 200_000;
const STREAM_SECONDS = 5;
const TIMEOUT = 30_000;

/** Send the call. An event stream is read for a few seconds. Throws if the gateway cannot be reached. */
export async function send(call: Call): Promise<Answer> {
  const began = performance.now();
  const request: RequestInit = { method: call.method, headers: { ...call.headers }, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT) };
  if (call.body !== null) request.body = call.body;
  const { pathname, search } = new URL(call.url);
  const response = await fetch(pathname + search, request).catch((error: unknown) => {
    throw new ApiError(0, { text: String(error) });
  });
  const type = response.headers.get("content-type") ?? "";
  const read = /^image\/|^application\/pdf/.test(type) ? await readFile(response, type) : await readText(response, type.startsWith("text/event-stream"));
  return { status: response.status, headers: [...response.headers], milliseconds: performance.now() - began, ...read };
}

async function readFile(response: Response, type: string): Promise<Pick<Answer, "body" | "cut">> {
  const file = await response.blob();
  return { body: { url: URL.createObjectURL(file), type, bytes: file.size }, cut: null };
}

async function readText(response: Response, stream: boolean): Promise<Pick<Answer, "body" | "cut">> {
  const reader = response.body?.getReader();
  if (!reader) return { body: { text: "" }, cut: null };
  const decoder = new TextDecoder();
  let text = "";
  let cut: Answer["cut"] = null;
  const timer = stream
    ? setTimeout(() => {
        cut = "time";
        void reader.cancel();
      }, STREAM_SECONDS * 1000)
    : undefined;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length <= MOST) continue;
    text = text.slice(0, MOST);
    cut = "size";
    await reader.cancel();
    break;
  }
  clearTimeout(timer);
  return { body: { text }, cut };
}

/** Send the call as the person who is logged in. */
export async function sendAsPerson(call: Call): Promise<Answer> {
  return send(withToken(call, await accessToken()));
}
