/** The logic of a call: credentials, deadlines, retries, the cache, errors. */

import { baseUrlOf } from "./base_url.js";
import { ETagCache } from "./cache.js";
import { DeadlineExceeded, DomogateError, NoAnswer, UnexpectedAnswer } from "./errors.js";
import { Effect } from "./effect.js";
import { type Exchange, exchange } from "./exchange.js";
import { aborted, type Answer, type Fetch, Lost, send, untilDeadline } from "./http.js";
import { type Operation, urlOf } from "./operation.js";
import { refusalOf } from "./refusals.js";
import { randomKey, RETRIES, type Retries } from "./retries.js";
import { EventStream, type StreamOptions } from "./stream.js";
import { Session, type Tokens } from "./tokens.js";

/** The settings of a client. All times are in milliseconds. */
export interface Settings {
  readonly subscriptionKey?: string;
  /** Tokens that are refreshed. */
  readonly session?: Session;
  /** Tokens that are not refreshed. Give either `session` or `tokens`. */
  readonly tokens?: Tokens;
  /** The time that a call may take, with all its attempts. Default: 30 seconds. */
  readonly deadline?: number;
  readonly retries?: Partial<Retries>;
  readonly cache?: ETagCache;
  /** The time after which an event stream without a connection gives up. Default: it never gives up. */
  readonly reconnectFor?: number;
  /** The largest body of an answer in bytes. Default: 64 MB. */
  readonly maxAnswer?: number;
  /** Your own `fetch`, for example with certificates or for tests. */
  readonly fetch?: Fetch;
}

/** The options of one call. */
export interface CallOptions {
  /** The milliseconds that this call may take, with all its attempts. */
  readonly deadline?: number;
  /** Stops the call. */
  readonly signal?: AbortSignal;
}

/** The options of a command that can be repeated. */
export interface CommandOptions extends CallOptions {
  /** The client makes a key itself if you give none. */
  readonly idempotencyKey?: string;
}

interface Sent extends CommandOptions {
  readonly query?: object;
  readonly body?: unknown;
  readonly token?: string;
}

/** An answer that is not JSON: a picture, a report, a file. */
export interface RawContent {
  readonly data: Uint8Array;
  readonly mediaType: string;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string | null;
}

/** Sends operations to one gateway. `Client` has a method for each operation. */
export class Caller {
  readonly baseUrl: string;
  readonly session: Session;
  readonly reconnectFor: number;
  readonly fetch: Fetch;
  readonly #key: string | undefined;
  readonly #deadline: number;
  readonly #retries: Retries;
  readonly #cache: ETagCache;
  readonly #maxAnswer: number;

  constructor(baseUrl: string, settings: Settings = {}) {
    if (settings.session && settings.tokens) throw new DomogateError("give either `session` or `tokens`, not both");
    this.baseUrl = baseUrlOf(baseUrl);
    this.session = settings.session ?? new Session({ tokens: settings.tokens });
    this.reconnectFor = settings.reconnectFor ?? Infinity;
    // The fetch of a browser must be called as a method of the window.
    this.fetch = settings.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#key = settings.subscriptionKey;
    this.#deadline = settings.deadline ?? 30_000;
    this.#retries = { ...RETRIES, ...settings.retries };
    this.#cache = settings.cache ?? new ETagCache();
    this.#maxAnswer = settings.maxAnswer ?? 64_000_000;
  }

  /** Send an operation until it has an answer, as often as the retries allow, and return the answer. */
  async call<T>(operation: Operation, path: readonly string[], sent: Sent = {}): Promise<T> {
    const ends = performance.now() + (sent.deadline ?? this.#deadline);
    const headers = this.headersFor(operation);
    if (operation.repeatable) headers.set("idempotency-key", sent.idempotencyKey ?? randomKey());
    const isRead = operation.method === "GET";
    const url = this.baseUrl + urlOf(operation, path, sent.query);
    const limits = { ends, maxBytes: this.#maxAnswer, signal: sent.signal };
    const effect = new Effect(operation);
    let used: Tokens | undefined;
    let refused: Tokens | undefined;
    const asked: Exchange = {
      url,
      method: operation.method,
      headers,
      body: sent.body,
      limits,
      retries: this.#retries,
      mayRepeat: isRead || operation.repeatable === true,
      cache: operation.etag && this.#cache,
      send: (request) => {
        if (performance.now() >= ends) throw tooLate(operation);
        return effect.watch(send(this.fetch, url, request, limits));
      },
      authorize: async () => {
        used = await effect.authorize(this.#authorize(operation, headers, sent, ends, refused));
      },
      renew: async () => {
        refused = used;
        return used !== undefined && this.session.canRefresh;
      },
    };
    return exchange(asked, (answer) => readAnswer(operation, answer) as T).catch((error: unknown) => {
      throw effect.mark(error instanceof Lost ? noAnswer(operation, error) : error);
    });
  }

  /** Read the items of all pages of a list. */
  async *pages<T>(operation: Operation, path: readonly string[], sent: Sent = {}): AsyncGenerator<T, void, undefined> {
    let after: string | null | undefined;
    for (;;) {
      const page: Page<T> = await this.call<Page<T>>(operation, path, { ...sent, query: { ...sent.query, after } });
      yield* page.items;
      if (page.next === null || page.next === undefined) return;
      if (page.next === after) throw new UnexpectedAnswer(`${operation.name}: a page names itself as the next page`);
      after = page.next;
    }
  }

  /** The event stream of an operation. It connects when the first event is read. */
  listen(operation: Operation, path: readonly string[], query: object, options: StreamOptions = {}): EventStream {
    return new EventStream(this, operation, this.baseUrl + urlOf(operation, path, query), options);
  }

  /** The headers of a request, without the token. */
  headersFor(operation: Operation): Headers {
    const headers = new Headers({ accept: operation.answer === "content" ? "*/*" : "application/json" });
    if (operation.key && this.#key !== undefined) setSecret(headers, "ocp-apim-subscription-key", this.#key);
    return headers;
  }

  /** Put a token that has not expired into the headers. Returns the tokens of the session, if one of them is used. */
  async authorize(operation: Operation, headers: Headers, refused?: Tokens): Promise<Tokens | undefined> {
    if (operation.token === "none") return undefined;
    const found = refused && this.session.tokens === refused ? undefined : this.session.findFresh();
    const tokens = found ?? (await this.session.refresh(this.baseUrl, this.fetch, refused));
    const [first, second] =
      operation.token === "id" ? [tokens.idToken, tokens.accessToken] : [tokens.accessToken, tokens.idToken];
    setSecret(headers, "authorization", `Bearer ${first || second || ""}`);
    return tokens;
  }

  async #authorize(
    operation: Operation,
    headers: Headers,
    sent: Sent,
    ends: number,
    refused: Tokens | undefined,
  ): Promise<Tokens | undefined> {
    if (sent.token !== undefined) {
      setSecret(headers, "authorization", `Bearer ${sent.token}`);
      return undefined;
    }
    return untilDeadline(ends, sent.signal, (signal) =>
      Promise.race([this.authorize(operation, headers, refused), aborted(signal)]),
    ).catch((error: unknown) => {
      throw error instanceof Lost ? tooLate(operation) : error;
    });
  }

  /** The text of this object contains no key and no token. */
  toJSON(): object {
    return { baseUrl: this.baseUrl };
  }
}

function readAnswer(operation: Operation, answer: Answer): unknown {
  const { status, headers, body } = answer;
  if (status >= 400) throw refusalOf(answer, operation.name);
  if (status === 304 && !body.length) throw new UnexpectedAnswer(`${operation.name}: 304 without an answer to compare with`);
  if (operation.answer === "nothing") return undefined;
  if (operation.answer === "content") {
    const [mediaType = ""] = (headers.get("content-type") ?? "").split(";");
    return { data: body, mediaType } satisfies RawContent;
  }
  return parse(operation, (status === 204 ? operation.empty : undefined) ?? new TextDecoder().decode(body));
}

function parse(operation: Operation, text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // The error below says the same.
  }
  throw new UnexpectedAnswer(`${operation.name}: the answer has another form than expected`);
}

function noAnswer(operation: Operation, lost: Lost): NoAnswer {
  if (lost.isLate) return new DeadlineExceeded(`${operation.name}: no answer before the deadline`);
  return new NoAnswer(`${operation.name}: ${lost.message}`);
}

function tooLate(operation: Operation): DeadlineExceeded {
  return new DeadlineExceeded(`${operation.name}: the deadline passed before the request was sent`);
}

/** Set a header with a secret. The error of `Headers` for a wrong value would show the secret. */
function setSecret(headers: Headers, name: string, value: string): void {
  if (!/^[\x20-\x7e]*$/.test(value)) throw new DomogateError(`the value for the header ${name} has a letter that no header can have`);
  headers.set(name, value);
}
