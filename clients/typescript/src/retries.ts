/** Which requests are sent again, and after which pause. */

/**
 * The rules for repeating a request. All times are in milliseconds.
 *
 * A request that only reads is repeated, and a command with an idempotency key. Every other request is sent once.
 */
export interface Retries {
  readonly attempts: number;
  readonly firstPause: number;
  readonly longestPause: number;
  readonly statuses: readonly number[];
}

export const RETRIES: Retries = { attempts: 3, firstPause: 200, longestPause: 10_000, statuses: [429, 502, 503, 504] };

/** A pause that doubles with each attempt. The pauses of many clients differ, so that they do not all come back together. */
export function growingPause(first: number, longest: number, doublings: number): number {
  return Math.min(longest, first * 2 ** Math.min(doublings, 20)) * (0.5 + Math.random() / 2);
}

/** The time to wait after this attempt (the first is 1). `undefined`: do not try again. */
export function pauseAfter(retries: Retries, attempt: number, retryAfter: number | undefined): number | undefined {
  if (attempt >= retries.attempts) return undefined;
  return retryAfter ?? growingPause(retries.firstPause, retries.longestPause, attempt - 1);
}

/** The longest time of a timer. A timer of JavaScript with a longer time ends at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Wait. Rejects with the reason of the signal if it is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, Math.min(milliseconds, LONGEST_TIMER));
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The value of Retry-After in milliseconds. The gateway sends seconds; a proxy before it may send a date. */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after") ?? "";
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  const date = value.endsWith(" GMT") ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** A new idempotency key. `crypto.randomUUID` exists only in pages with https:// or from localhost. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
