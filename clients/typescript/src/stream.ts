/** Event streams that continue after a lost connection with the first missed event. */

import type { Caller } from "./caller.js";
import { DeadlineExceeded, DomogateError, NoAnswer, Refused, StreamEnded } from "./errors.js";
import { readEvent, readItem, type StreamItem } from "./events.js";
import { TokenRefused } from "./faults.js";
import { aborted, PRIVATE, refuseRedirect } from "./http.js";
import type { Operation } from "./operation.js";
import { refusalOf } from "./refusals.js";
import { growingPause, LONGEST_TIMER, pause } from "./retries.js";
import { EventParser, type Message } from "./sse.js";
import type { Tokens } from "./tokens.js";

/** The gateway sends something at least every 15 seconds. A stream that is silent for this time is lost. */
const SILENCE = 45_000;
const CONNECT = 10_000;
const LONGEST_PAUSE = 30_000;
/** The longest pause that the gateway can ask for. */
const LONGEST_WANTED = 3_600_000;
const MOST_OF_AN_ERROR = 65_536;
/** Reasons for the end of a stream after which a new stream continues. */
const CONTINUE = new Set(["draining", "slow", "interrupted"]);
const TRY_AGAIN = new Set([429, 502, 503, 504]);

export interface StreamOptions {
  /** The id of the last event that the application has. The stream continues after it. */
  readonly cursor?: string;
  /** The milliseconds after which the loop throws `DeadlineExceeded`. Default: the stream has no end. */
  readonly deadline?: number;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** Events as they happen: `for await (const item of stream)`. Leaving the loop closes the connection. */
export class EventStream implements AsyncIterable<StreamItem> {
  readonly #caller: Caller;
  readonly #operation: Operation;
  readonly #url: string;
  readonly #closed = new AbortController();
  readonly #deadline: number;
  #cursor: string | undefined;
  #retry = 2_000;
  #failures = 0;
  #lostAt: number | undefined;
  /** Tokens that the gateway did not accept since the last event. */
  #refused: Tokens | undefined;

  constructor(caller: Caller, operation: Operation, url: string, options: StreamOptions) {
    this.#caller = caller;
    this.#operation = operation;
    this.#url = url;
    this.#cursor = options.cursor;
    this.#deadline = options.deadline ?? Infinity;
    if (options.signal?.aborted) this.close();
    options.signal?.addEventListener("abort", () => this.close(), { once: true, signal: this.#closed.signal });
  }

  /** The id of the last event. Store it to continue after a restart: `listen({}, { cursor })`. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** End the stream and its loop. */
  close(): void {
    this.#closed.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamItem, void, undefined> {
    const { signal } = this.#closed;
    const late = new DeadlineExceeded(`${this.#operation.name}: the deadline of ${this.#deadline} ms for listening passed`);
    const timer = this.#deadline > LONGEST_TIMER ? undefined : setTimeout(() => this.#closed.abort(late), this.#deadline);
    try {
      while (!signal.aborted) {
        const wait = yield* this.#connect();
        await pause(wait, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      this.close();
    }
    if (signal.reason === late) throw late;
  }

  /** Read one connection to its end. Returns the pause before the next connection. */
  async *#connect(): AsyncGenerator<StreamItem, number, undefined> {
    const connection = new Connection(this.#closed.signal);
    try {
      for await (const message of connection.read(await this.#open(connection), this)) yield this.#take(message);
      return this.#pauseAfter("the stream ended without a reason", 0);
    } catch (error) {
      if (this.#closed.signal.aborted) throw error;
      if (error instanceof Ended) {
        const mayContinue = CONTINUE.has(error.code) || (error.code === "token" && this.#mayRefresh());
        if (mayContinue) return this.#pauseAfter(error.code, 0);
        throw new StreamEnded(error.code, error.detail);
      }
      if (error instanceof Refused) {
        if (error instanceof TokenRefused && this.#mayRefresh()) return 0;
        if (TRY_AGAIN.has(error.status)) return this.#pauseAfter(error.message, error.retryAfter ?? 0);
      }
      if (error instanceof NoAnswer || connection.isLost(error)) return this.#pauseAfter(String(error), 0);
      throw error;
    } finally {
      connection.close();
    }
  }

  async #open(connection: Connection): Promise<Response> {
    const headers = this.#caller.headersFor(this.#operation);
    headers.set("accept", "text/event-stream");
    if (this.#cursor !== undefined) headers.set("last-event-id", this.#cursor);
    await connection.orClosed(this.#caller.authorize(this.#operation, headers, this.#refused));
    const response = await connection.open(this.#caller, this.#url, headers);
    refuseRedirect(response);
    if (response.status === 200) return response;
    const { status, headers: given } = response;
    throw refusalOf({ status, headers: given, body: await connection.beginningOf(response) }, this.#operation.name);
  }

  #take(message: Message): StreamItem {
    const item = itemOf(message);
    this.#failures = 0;
    this.#lostAt = undefined;
    this.#refused = undefined;
    if (message.id !== undefined) this.#cursor = message.id;
    return item;
  }

  /** Whether new tokens can help. The next connection gets them. */
  #mayRefresh(): boolean {
    if (this.#refused || !this.#caller.session.canRefresh) return false;
    this.#refused = this.#caller.session.tokens;
    return true;
  }

  #pauseAfter(problem: string, least: number): number {
    const now = performance.now();
    this.#lostAt ??= now;
    const lostFor = now - this.#lostAt;
    if (lostFor + least > this.#caller.reconnectFor) {
      throw new NoAnswer(`${this.#operation.name}: no stream for ${Math.round(lostFor / 1000)} s: ${problem}`);
    }
    const longest = Math.max(this.#retry, LONGEST_PAUSE);
    return Math.min(LONGEST_WANTED, Math.max(least, growingPause(this.#retry, longest, this.#failures++)));
  }

  /** Called by the connection: the pause that the gateway asks for. */
  set retry(milliseconds: number) {
    this.#retry = milliseconds;
  }
}

/** The gateway ended the stream with this reason. */
class Ended extends Error {
  constructor(
    readonly code: string,
    readonly detail: string,
  ) {
    super(code);
  }
}

function itemOf({ event, data }: Message): StreamItem {
  if (event === "ready" || event === "reset") return { ...readItem(data), type: event } as StreamItem;
  if (event !== "end") return readEvent(data);
  const { code, detail } = readItem(data);
  throw new Ended(String(code), String(detail));
}

/** One connection. It is lost if it is silent for too long. */
class Connection {
  readonly #controller = new AbortController();
  readonly #closed: AbortSignal;
  readonly #stop = (): void => this.#controller.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;

  constructor(closed: AbortSignal) {
    this.#closed = closed;
    closed.addEventListener("abort", this.#stop, { once: true });
  }

  /** The result of an action. Rejects when the connection is closed. */
  orClosed<T>(action: Promise<T>): Promise<T> {
    return Promise.race([action, aborted(this.#controller.signal)]);
  }

  async open(caller: Caller, url: string, headers: Headers): Promise<Response> {
    this.#isReading = true;
    this.#expect(CONNECT);
    return caller.fetch(url, { ...PRIVATE, headers, signal: this.#controller.signal });
  }

  async *read(response: Response, stream: EventStream): AsyncGenerator<Message, void, undefined> {
    const parser = new EventParser();
    const reader = response.body?.getReader();
    for (;;) {
      this.#expect(SILENCE);
      this.#isReading = true;
      const next = await reader?.read();
      this.#isReading = false;
      clearTimeout(this.#timer);
      if (next?.value === undefined) return;
      const messages = parser.feed(next.value);
      if (parser.retry !== undefined) stream.retry = parser.retry;
      yield* messages;
    }
  }

  async beginningOf(response: Response): Promise<Uint8Array> {
    const reader = response.body?.getReader();
    const bytes: number[] = [];
    for (let next = await reader?.read(); next?.value !== undefined && bytes.length < MOST_OF_AN_ERROR; ) {
      bytes.push(...next.value.subarray(0, MOST_OF_AN_ERROR));
      next = await reader?.read();
    }
    this.#isReading = false;
    return Uint8Array.from(bytes);
  }

  /** Whether the network failed: `fetch` and its reader throw errors of many classes. */
  isLost(error: unknown): boolean {
    return this.#isReading && !(error instanceof DomogateError);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#closed.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }

  #expect(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#stop, milliseconds);
  }
}
