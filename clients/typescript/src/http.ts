/** Sends one HTTP request: bounded by a deadline and by the size of the answer. */

import { UnexpectedAnswer } from "./errors.js";
import { LONGEST_TIMER } from "./retries.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A complete answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** What ends a request. */
export interface Limits {
  /** The deadline, as `performance.now()`. */
  readonly ends: number;
  /** The largest body of an answer. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** The connection failed, or the deadline passed. */
export class Lost extends Error {
  constructor(
    message: string,
    /** Whether the gateway may have received the request. */
    readonly isSent: boolean,
    readonly isLate: boolean,
  ) {
    super(message);
  }
}

/** Codes of Node for connections that were not opened. A browser does not say whether it opened a connection. */
const NOT_OPENED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Cookies are never sent and redirects are not followed, because the headers have secrets. */
export const PRIVATE: RequestInit = { credentials: "omit", redirect: "manual", cache: "no-store" };

function lost(error: unknown): Lost {
  if (error instanceof Lost) return error;
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
  const words = error instanceof Error ? `${error.name}: ${error.message}` : "the connection failed";
  return new Lost(code ? `${words} (${code})` : words, !NOT_OPENED.has(code), false);
}

/** Rejects with the reason of the signal when it is aborted. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
}

/** Run an action with a signal. It is aborted with `Lost` at the deadline, or with the caller's reason. */
export async function untilDeadline<T>(
  ends: number,
  caller: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller?.throwIfAborted();
  const controller = new AbortController();
  const stop = (): void => controller.abort(caller?.reason);
  const late = (): void => controller.abort(new Lost("no answer before the deadline", true, true));
  const timer = setTimeout(late, Math.min(Math.max(0, ends - performance.now()), LONGEST_TIMER));
  caller?.addEventListener("abort", stop, { once: true });
  try {
    return await act(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener("abort", stop);
  }
}

/** Send a request and read the whole answer. Throws `Lost`. */
export async function send(
  fetch: Fetch,
  url: string,
  request: RequestInit,
  limits: Limits,
): Promise<Answer> {
  try {
    return await untilDeadline(limits.ends, limits.signal, async (signal) => {
      const response = await fetch(url, { ...PRIVATE, ...request, signal });
      refuseRedirect(response);
      return { status: response.status, headers: response.headers, body: await readBody(response, limits.maxBytes) };
    });
  } catch (error) {
    if (limits.signal?.aborted) throw limits.signal.reason;
    throw error instanceof UnexpectedAnswer ? error : lost(error);
  }
}

/** Throw if the answer is a redirect. A browser hides the status of a redirect that it does not follow. */
export function refuseRedirect({ type, status }: Response): void {
  if (type === "opaqueredirect" || (status >= 300 && status < 400 && status !== 304)) {
    throw new UnexpectedAnswer("the answer is a redirect; check the base URL of the client");
  }
}

/** The body of a response. Throws `UnexpectedAnswer` if it is larger than allowed. */
async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    size += next.value.length;
    if (size > maxBytes) {
      void reader?.cancel().catch(() => undefined);
      throw new UnexpectedAnswer("the answer is larger than `maxAnswer` of the client allows");
    }
    chunks.push(next.value);
  }
  return new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
}
