/** One request with its attempts: token, deadline, retries, ETag. `Caller` and the pages of the gateway use it. */

import type { ETagCache } from "./cache.js";
import { type Answer, type Limits, Lost } from "./http.js";
import { pause, pauseAfter, retryAfterOf, type Retries } from "./retries.js";

/** A request, and the rules for its attempts. */
export interface Exchange {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  /** The JSON to send, if there is any. */
  readonly body?: unknown;
  readonly limits: Limits;
  readonly retries: Retries;
  /** Whether the request may be sent again after the gateway may have received it. */
  readonly mayRepeat: boolean;
  /** Answers with an ETag are kept here. */
  readonly cache?: ETagCache | undefined;
  /** Make one attempt. Throws `Lost`. */
  send(request: RequestInit): Promise<Answer>;
  /** Put a token into the headers. It runs before each attempt. A `Lost` counts as an attempt without an answer. */
  authorize(): Promise<unknown>;
  /** The gateway refused the token. Returns whether the next `authorize` can use another token. */
  renew(): Promise<boolean>;
}

/** Send a request until it has an answer, as often as the rules allow, and read the answer. Throws `Lost`. */
export async function exchange<T>(asked: Exchange, read: (answer: Answer) => T): Promise<T> {
  const { url, method, headers, limits, retries, mayRepeat, cache } = asked;
  const request: RequestInit = { method, headers };
  if (asked.body !== undefined) {
    headers.set("content-type", "application/json");
    request.body = JSON.stringify(asked.body);
  }
  const cached = cache?.find(url);
  if (cached) headers.set("if-none-match", cached.etag);
  let isRenewed = false;
  for (let attempt = 1; ; attempt++) {
    let wait: number | undefined;
    const answer = await asked.authorize().then(() => asked.send(request)).catch(takeLost);
    if (answer instanceof Lost) {
      if (mayRepeat || !answer.isSent) wait = pauseAfter(retries, attempt, undefined);
    } else if (!isRenewed && isExpiredToken(answer) && (await asked.renew())) {
      // The gateway refused the token before it looked at the request, so the request can be sent again.
      isRenewed = true;
      continue;
    } else if (mayRepeat && retries.statuses.includes(answer.status)) {
      wait = pauseAfter(retries, attempt, retryAfterOf(answer.headers));
    }
    if (wait !== undefined && performance.now() + wait < limits.ends) {
      await pause(wait, limits.signal);
      continue;
    }
    if (answer instanceof Lost) throw answer;
    if (cached && answer.status === 304) return read({ ...answer, body: cached.body });
    const result = read(answer);
    const etag = answer.headers.get("etag");
    // Only an answer that could be read is kept.
    if (etag !== null && answer.status === 200) cache?.keep(url, etag, answer.body);
    return result;
  }
}

function takeLost(error: unknown): Lost {
  if (error instanceof Lost) return error;
  throw error;
}

/** Whether a new token can help: the token was sent and is not valid (RFC 6750 §3.1). */
function isExpiredToken({ status, headers }: Answer): boolean {
  return status === 401 && (headers.get("www-authenticate") ?? "").includes('error="invalid_token"');
}
