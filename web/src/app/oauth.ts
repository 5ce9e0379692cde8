/** Authorization code with PKCE (RFC 7636), as every other client of the gateway uses it. */

import { base64Url, randomText } from "@domogate/client/core";
import { sha256 } from "./sha256";

export const CLIENT_ID = "domogate-pages";
const SCOPES =
  "openid profile email offline_access home.use developer.use plug.read plug.write topology.read scene.launch scene.write light.read light.write " +
  "comfort.read comfort.write audiovideoterminal.read safety.read gateway.manage";
const PENDING = "domogate.login";

export interface TokenAnswer {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
  readonly scope: string;
}

interface PendingLogin {
  readonly state: string;
  readonly verifier: string;
  readonly target: string;
}

/** The answer of the gateway to a login. */
export type Outcome = { target: string; tokens: TokenAnswer } | { target: string; error: string };

/** The challenge of a verifier by the method S256. */
export function challengeOf(verifier: string): string {
  return base64Url(sha256(new TextEncoder().encode(verifier)));
}

/** Leave the page for the login. */
export function leaveForLogin(target: string, language: string): void {
  const [pending, address] = beginLogin(target, language);
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  location.replace(address);
}

/** The tokens of the person who is logged in in this browser, or null. The page stays. Throws if the gateway cannot be reached. */
export async function findLogin(language: string, scope: string = SCOPES): Promise<TokenAnswer | null> {
  const [pending, address] = beginLogin("/", language, scope);
  // With `prompt=none` the gateway shows no page. The answer is a redirect to this page. Its address has the code, or an error.
  const answer = await fetch(`${address}&prompt=none`, { signal: AbortSignal.timeout(15_000) });
  throwIfBroken(answer);
  const outcome = await readAnswer(pending, new URL(answer.url).searchParams);
  return outcome && "tokens" in outcome ? outcome.tokens : null;
}

function beginLogin(target: string, language: string, scope: string = SCOPES): [PendingLogin, string] {
  const pending: PendingLogin = { state: randomText(), verifier: randomText(), target };
  const request = new URLSearchParams({
    client_id: CLIENT_ID,
    response_type: "code",
    redirect_uri: `${location.origin}/signed-in`,
    scope,
    state: pending.state,
    code_challenge: challengeOf(pending.verifier),
    code_challenge_method: "S256",
    ui_locales: language,
  });
  return [pending, `/auth/authorize?${request}`];
}

/** Read the answer of the gateway from the address. Null if this browser tab did not begin the login. */
export async function finishLogin(answer: URLSearchParams): Promise<Outcome | null> {
  const stored = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  return stored ? readAnswer(JSON.parse(stored) as PendingLogin, answer) : null;
}

async function readAnswer({ state, verifier, target }: PendingLogin, answer: URLSearchParams): Promise<Outcome | null> {
  // A wrong issuer or state means that another site made up this address (RFC 9207, RFC 9700 §4.7).
  if (answer.get("state") !== state || answer.get("iss") !== `${location.origin}/auth`) return null;
  const code = answer.get("code");
  if (!code) return { target, error: answer.get("error") ?? "server_error" };
  const form = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: `${location.origin}/signed-in` };
  const tokens = await askForTokens(form);
  return tokens ? { target, tokens } : { target, error: "invalid_grant" };
}

/** New tokens, or null if the gateway refuses. Throws if the gateway cannot be reached. */
export async function askForTokens(form: Record<string, string>): Promise<TokenAnswer | null> {
  const response = await fetch("/auth/token", {
    method: "POST",
    body: new URLSearchParams({ ...form, client_id: CLIENT_ID }),
    signal: AbortSignal.timeout(15_000),
  });
  if (response.ok) return (await response.json()) as TokenAnswer;
  throwIfBroken(response);
  return null;
}

/** An answer that says nothing about the login: the gateway is asked again later. */
function throwIfBroken({ status }: Response): void {
  if (status >= 500 || status === 429) throw new Error(`the gateway answered ${status}`);
}

/** End the grant of a token, also while the page closes. */
export function revoke(token: string): void {
  navigator.sendBeacon("/auth/revoke", new URLSearchParams({ client_id: CLIENT_ID, token }));
}
