/** Tokens, and the session that refreshes them. */

import { LoginFailed, LoginRequired, NoAnswer } from "./errors.js";
import { type Answer, type Fetch, Lost, send } from "./http.js";
import { readObject } from "./problems.js";
import { pause, RETRIES } from "./retries.js";

/** Tokens are refreshed this time before they expire, because clocks differ and requests take time. */
const EARLY = 30_000;
/**
 * Pauses before the attempts of a refresh. For ten seconds, a repeated refresh gets the same new refresh token again. The
 * access token and the id token are new each time.
 */
const PAUSES_OF_REFRESH: readonly number[] = [0, 500, 2_000];
const LONGEST_ATTEMPT = 2_500;
const LONGEST_EXCHANGE = 30_000;
const MAX_ANSWER = 1_000_000;

/** The tokens of one grant. */
export interface Tokens {
  readonly accessToken?: string;
  readonly idToken?: string;
  readonly refreshToken?: string;
  readonly scope?: string;
  /** Milliseconds since 1970, as `Date.now()`. Without it, the tokens are used until the gateway refuses them. */
  readonly expiresAt?: number;
}

/** Where an application keeps tokens. */
export interface TokenStore {
  /** Return the newest stored tokens. */
  load(): Promise<Tokens | undefined> | Tokens | undefined;
  /** Store the tokens. The former tokens do not work any more. */
  save(tokens: Tokens): Promise<void> | void;
}

/** Keeps the tokens in `sessionStorage` or `localStorage` of a browser. */
export class WebTokenStore implements TokenStore {
  constructor(
    readonly storage: Pick<Storage, "getItem" | "setItem">,
    readonly key = "domogate-tokens",
  ) {}

  load(): Tokens | undefined {
    const text = this.storage.getItem(this.key);
    if (text === null) return undefined;
    // An entry with another form is no session. The error of `JSON.parse` would show a part of it.
    const tokens: Tokens = readObject(new TextEncoder().encode(text));
    return Object.keys(tokens).length ? tokens : undefined;
  }

  save(tokens: Tokens): void {
    this.storage.setItem(this.key, JSON.stringify(tokens));
  }
}

export interface SessionSettings {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokens?: Tokens | undefined;
  readonly store?: TokenStore | undefined;
}

const isFresh = (tokens: Tokens): boolean => !tokens.expiresAt || Date.now() < tokens.expiresAt - EARLY;

/** The tokens of one person in one application. Several clients can share a session. */
export class Session {
  readonly clientId: string;
  readonly #clientSecret: string;
  readonly #store: TokenStore | undefined;
  #tokens: Tokens | undefined;
  #isSaved: boolean;
  #running: Promise<Tokens> | undefined;
  /** The refresh token that the gateway refused, and its answer. */
  #refusal: { readonly refreshToken: string; readonly error: LoginRequired } | undefined;

  constructor(settings: SessionSettings = {}) {
    this.clientId = settings.clientId ?? "";
    this.#clientSecret = settings.clientSecret ?? "";
    this.#store = settings.store;
    this.#tokens = settings.tokens;
    this.#isSaved = settings.tokens === undefined;
  }

  get tokens(): Tokens | undefined {
    return this.#tokens;
  }

  get canRefresh(): boolean {
    return this.#store !== undefined || Boolean(this.#tokens?.refreshToken);
  }

  /** The tokens, if they can be used without a refresh. */
  findFresh(): Tokens | undefined {
    const tokens = this.#tokens;
    if (!tokens || (this.#store && !this.#isSaved)) return undefined;
    return isFresh(tokens) || !tokens.refreshToken ? tokens : undefined;
  }

  /**
   * Get tokens that are fresh and are not the refused tokens. Parallel calls refresh once.
   *
   * A refresh has no signal: when the gateway has answered, the former refresh token does not work any more, so the new
   * tokens must be stored.
   */
  refresh(baseUrl: string, fetch: Fetch, refused?: Tokens): Promise<Tokens> {
    if (this.#running) {
      // The running refresh may have begun before these tokens were refused, and return them again.
      return this.#running.then((tokens) => (tokens === refused ? this.refresh(baseUrl, fetch, refused) : tokens));
    }
    this.#running = this.#refresh(baseUrl, fetch, refused).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #refresh(baseUrl: string, fetch: Fetch, refused: Tokens | undefined): Promise<Tokens> {
    if (this.#store) {
      if (this.#tokens && !this.#isSaved) await this.#save(this.#tokens);
      // Another process or tab may have refreshed the tokens. Its refresh token replaced ours.
      const stored = await this.#store.load();
      if (stored && !isSame(stored, this.#tokens)) this.#tokens = stored;
    }
    const tokens = this.#tokens;
    if (!tokens) throw new LoginRequired("login_required", "there are no tokens; log in first");
    if (tokens !== refused && (isFresh(tokens) || !tokens.refreshToken)) return tokens;
    if (!tokens.refreshToken) {
      throw new LoginRequired("login_required", "the token is not accepted, and there is no refresh token; log in again");
    }
    const { refreshToken } = tokens;
    if (this.#refusal?.refreshToken === refreshToken) throw this.#refusal.error;
    const fields = { grant_type: "refresh_token", refresh_token: refreshToken };
    const fresh = await this.requestTokens(baseUrl, fetch, fields).catch((error: unknown) => {
      if (error instanceof LoginRequired) this.#refusal = { refreshToken, error };
      throw error;
    });
    await this.take(fresh);
    return fresh;
  }

  /** Use these new tokens from now on, and store them. */
  async take(tokens: Tokens): Promise<void> {
    this.#tokens = tokens;
    this.#isSaved = false;
    if (this.#store) await this.#save(tokens);
  }

  /** Send a request to the token endpoint (RFC 6749 §4.1.3, §6). A refresh is sent again if the gateway is not available. */
  async requestTokens(baseUrl: string, fetch: Fetch, fields: Readonly<Record<string, string>>): Promise<Tokens> {
    const secret = this.#clientSecret ? { client_secret: this.#clientSecret } : {};
    const form = new URLSearchParams({ ...fields, client_id: this.clientId, ...secret });
    const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
    // A code works once, so the exchange of a code is not repeated. It may take longer than one attempt of a refresh.
    const isRefresh = "refresh_token" in fields;
    let problem = "";
    for (const wait of isRefresh ? PAUSES_OF_REFRESH : [0]) {
      if (wait) await pause(wait);
      const ends = performance.now() + (isRefresh ? LONGEST_ATTEMPT : LONGEST_EXCHANGE);
      const request = { method: "POST", headers, body: form.toString() };
      try {
        const answer = await send(fetch, `${baseUrl}/auth/token`, request, { ends, maxBytes: MAX_ANSWER });
        if (!isRefresh || !RETRIES.statuses.includes(answer.status)) return readTokens(answer, fields);
        problem = `status ${answer.status}`;
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        problem = error.message;
      }
    }
    throw new NoAnswer(`the token endpoint did not answer: ${problem}`, !isRefresh);
  }

  async #save(tokens: Tokens): Promise<void> {
    await this.#store?.save(tokens);
    this.#isSaved = true;
  }

  /** The text of this object contains no token. */
  toJSON(): object {
    return { clientId: this.clientId, scope: this.#tokens?.scope, expiresAt: this.#tokens?.expiresAt };
  }
}

function isSame(one: Tokens, other: Tokens | undefined): boolean {
  return one.accessToken === other?.accessToken && one.idToken === other?.idToken && one.refreshToken === other?.refreshToken;
}

function readTokens(answer: Answer, fields: Readonly<Record<string, string>>): Tokens {
  const document = readObject(answer.body);
  const text = (name: string): string => (typeof document[name] === "string" ? document[name] : "");
  if (answer.status !== 200) {
    const error = text("error") || `status ${answer.status}`;
    const kind = error === "invalid_grant" ? LoginRequired : LoginFailed;
    throw new kind(error, text("error_description"));
  }
  const [accessToken, idToken] = [text("access_token"), text("id_token")];
  // The answer may come from another server, for example from the login page of a network.
  if (!accessToken && !idToken) throw new LoginFailed("no_token", "the token endpoint answered without a token");
  const lifetime = Math.min(Number(document["expires_in"] ?? Infinity) * 1000, lifetimeOf(idToken));
  return {
    accessToken,
    idToken,
    refreshToken: text("refresh_token") || (fields["refresh_token"] ?? ""),
    scope: text("scope"),
    ...(Number.isFinite(lifetime) && { expiresAt: Date.now() + lifetime }),
  };
}

/** The claims of a JWT, whose signature is not checked; an empty object for a text that is not a JWT. */
export function readClaims(token: string): Record<string, unknown> {
  try {
    const part = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    return readObject(Uint8Array.from(atob(part), (letter) => letter.charCodeAt(0)));
  } catch {
    return {};
  }
}

/** The milliseconds from the issue to the expiry of a JWT. They do not depend on the clock of this machine. */
function lifetimeOf(token: string): number {
  const { exp, iat } = readClaims(token);
  return typeof exp === "number" && typeof iat === "number" ? (exp - iat) * 1000 : Infinity;
}
