/** Logs a person in: authorization code with PKCE (RFC 7636) and a redirect. */

import { DomogateError, LoginFailed } from "./errors.js";
import { baseUrlOf } from "./base_url.js";
import type { Fetch } from "./http.js";
import { readClaims, Session, type TokenStore } from "./tokens.js";

/** One attempt of a person to log in. Keep it from the redirect to the callback, for example in `sessionStorage`. */
export interface LoginAttempt {
  /** The URL that the browser of the person opens. */
  readonly url: string;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** A secret of this attempt. */
  readonly verifier: string;
}

export interface LoginSettings {
  readonly clientSecret?: string;
  readonly store?: TokenStore;
  readonly fetch?: Fetch;
}

export function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export const randomText = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

/** Make a new attempt. Open its `url` in the person's browser, and give the URL of the callback to `finishLogin`. */
export async function beginLogin(
  baseUrl: string,
  clientId: string,
  scopes: readonly string[],
  redirectUri: string,
): Promise<LoginAttempt> {
  if (!globalThis.crypto?.subtle) {
    throw new DomogateError("the login needs Web Crypto: serve the page with https://, or from localhost");
  }
  const [state, nonce, verifier] = [randomText(), randomText(), randomText()];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const base = baseUrlOf(baseUrl);
  const fields = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: [...new Set(["openid", ...scopes])].join(" "),
    state,
    nonce,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  });
  return { url: `${base}/auth/authorize?${fields}`, baseUrl: base, clientId, redirectUri, state, nonce, verifier };
}

/** The code of the URL to which the browser returned. Throws `LoginFailed` if the URL is not of this attempt. */
function codeOf(attempt: LoginAttempt, callback: string): string {
  const given = new URL(callback).searchParams;
  if (given.get("state") !== attempt.state) {
    throw new LoginFailed("wrong_state", "the browser returned with another state than this attempt has");
  }
  if (given.get("iss") !== `${attempt.baseUrl}/auth`) {
    throw new LoginFailed("wrong_issuer", "another server than the gateway sent the browser back");
  }
  const error = given.get("error");
  if (error !== null) throw new LoginFailed(error, given.get("error_description") ?? "");
  const code = given.get("code");
  if (code === null) throw new LoginFailed("no_code", "the browser returned without a code");
  return code;
}

/** Exchange the code of the callback for tokens. Returns the session of the person. */
export async function finishLogin(attempt: LoginAttempt, callback: string, settings: LoginSettings = {}): Promise<Session> {
  const { clientSecret = "", store, fetch = (url, init) => globalThis.fetch(url, init) } = settings;
  const session = new Session({ clientId: attempt.clientId, clientSecret, store });
  const tokens = await session.requestTokens(attempt.baseUrl, fetch, {
    grant_type: "authorization_code",
    code: codeOf(attempt, callback),
    code_verifier: attempt.verifier,
    redirect_uri: attempt.redirectUri,
  });
  if (tokens.idToken) {
    // The token comes from the gateway itself, so its signature need not be checked (OpenID Connect Core 1.0 §3.1.3.7).
    const { nonce, iss, aud } = readClaims(tokens.idToken);
    if (nonce !== attempt.nonce || iss !== `${attempt.baseUrl}/auth`) {
      throw new LoginFailed("wrong_id_token", "the id token belongs to another login");
    }
    if (![aud].flat().includes(attempt.clientId)) {
      throw new LoginFailed("wrong_id_token", "the id token is for another application");
    }
  }
  await session.take(tokens);
  return session;
}
