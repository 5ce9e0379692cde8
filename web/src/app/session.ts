/** Who uses the pages. Tokens are only in memory: closing the page forgets them, and loading it asks the gateway again. */

import { readClaims } from "@domogate/client/core";
import { batch, signal } from "@preact/signals";
import { config } from "./config";
import { language, suggestLanguage } from "./i18n";
import { askForTokens, findLogin, finishLogin, leaveForLogin, revoke, type TokenAnswer } from "./oauth";
import { loginOf } from "./login_name";
import { lose, untilReachable } from "./reachable";
import { go, path, query } from "./router";

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly operator: boolean;
}

interface Tokens {
  readonly access: string;
  readonly id: string;
  readonly refresh: string | null;
  /** Milliseconds of `performance.now()`, which does not jump with the clock of the device. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

export const person = signal<Person | null>(null);

/** Whether the pages still ask the gateway who is logged in in this browser. */
export const searching = signal(true);

/** The path that needs a login, after the gateway said that nobody is logged in. The door asks for the login. */
export const wanted = signal<string | null>(null);

/** The error of a login that failed, by its code in RFC 6749 §4.1.2.1. */
export const loginError = signal<string | null>(null);

/** Nobody is logged in in this browser any more. The door asks for the login. */
export class LoginEnded extends Error {}

let tokens: Tokens | null = null;
let renewal: Promise<void> | null = null;
let timer: number | undefined;
let leaving = false;

const others = new BroadcastChannel("domogate.session");

function keep(answer: TokenAnswer): void {
  const now = performance.now();
  tokens = {
    access: answer.access_token,
    id: answer.id_token,
    refresh: answer.refresh_token ?? null,
    renewAt: now + answer.expires_in * 800,
    expiresAt: now + answer.expires_in * 1000,
  };
  clearTimeout(timer);
  timer = setTimeout(() => void renew().catch(() => undefined), answer.expires_in * 800);
  const claims = readClaims(answer.id_token);
  const text = (name: string): string => (typeof claims[name] === "string" ? claims[name] : "");
  void suggestLanguage(text("locale"));
  const operator = answer.scope.split(" ").includes("gateway.manage");
  const next = { id: text("sub"), name: text("name") || loginOf(text("email")), email: text("email"), operator };
  // Another person logged in in this browser: the page still shows data of the former person.
  if (person.value && person.value.id !== next.id) location.reload();
  if (JSON.stringify(next) !== JSON.stringify(person.value)) person.value = next;
}

function forget(): void {
  clearTimeout(timer);
  tokens = null;
  person.value = null;
}

/** Go to the login page, then to `target`: the present page by default. */
export function logIn(target: string = location.pathname + location.search): void {
  if (leaving) return;
  leaving = true;
  // Tokens and the login belong to one address: the gateway's public one.
  if (location.origin !== config.origin) location.replace(config.origin + target);
  else leaveForLogin(target, language.value);
}

/** Show the door, which asks for the login that this page needs. */
export function askForLogin(): void {
  const target = location.pathname + location.search;
  if (location.origin !== config.origin) {
    logIn(target);
    return;
  }
  batch(() => {
    // Requests of the page before may find out later that the login ended. The door still leads back to that page.
    if (path.value !== "/") wanted.value = target;
    go("/", { replace: true });
  });
}

/** Forget the person in this browser, in all its tabs. */
export function logOut(): void {
  const id = tokens?.id;
  leaving = true;
  others.postMessage("logged out");
  const request = new URLSearchParams({ post_logout_redirect_uri: `${location.origin}/`, ui_locales: language.value });
  if (id) request.set("id_token_hint", id);
  endGrant();
  location.assign(`/auth/logout?${request}`);
}

function endGrant(): void {
  if (tokens) revoke(tokens.refresh ?? tokens.access);
  forget();
}

/** Get new tokens. Simultaneous calls share one request. Throws if the gateway cannot be reached, and `LoginEnded` if it refuses. */
export function renew(): Promise<void> {
  renewal ??= renewNow().finally(() => {
    renewal = null;
  });
  return renewal;
}

async function renewNow(): Promise<void> {
  const refreshed = tokens?.refresh ? await askForTokens({ grant_type: "refresh_token", refresh_token: tokens.refresh }) : null;
  // The refresh token may end before the login of this browser does.
  const answer = refreshed ?? (await findLogin(language.value));
  if (answer) {
    keep(answer);
    return;
  }
  batch(() => {
    forget();
    askForLogin();
  });
  throw new LoginEnded("the login ended");
}

/** The gateway refused the person something that only operators may do. If the right was withdrawn, the pages do not offer it any more. */
export async function checkOperator(): Promise<void> {
  if (!person.value?.operator) return;
  const former = tokens?.refresh;
  const found = await findLogin(language.value);
  if (found) keep(found);
  if (found && former) revoke(former);
}

/** An access token that has not expired. Throws if there is none. */
export async function accessToken(): Promise<string> {
  const now = performance.now();
  if (!tokens || now >= tokens.expiresAt) await renew();
  else if (now >= tokens.renewAt) void renew().catch(() => undefined);
  if (!tokens) throw new LoginEnded("nobody is logged in");
  return tokens.access;
}

/** Take up the login of this browser, if there is one. The page is shown meanwhile. */
async function takeUpLogin(): Promise<void> {
  for (;;) {
    try {
      const found = await findLogin(language.value);
      if (found && (leaving || tokens)) revoke(found.refresh_token ?? found.access_token);
      else if (found) keep(found);
      break;
    } catch {
      lose();
      await untilReachable();
    }
  }
  searching.value = false;
}

/** Take up the answer of a login if the address has one, or the login of this browser. */
export async function startSession(): Promise<void> {
  others.onmessage = () => {
    endGrant();
    go("/", { replace: true });
  };
  // A page that the browser keeps for the back button keeps its tokens.
  addEventListener("pagehide", (event) => {
    if (!event.persisted) endGrant();
  });
  if (path.value !== "/signed-in") {
    if (location.origin === config.origin) void takeUpLogin();
    else searching.value = false;
    return;
  }
  const outcome = await finishLogin(query.value).catch(() => ({ target: "/", error: "server_error" }));
  batch(() => {
    searching.value = false;
    if (outcome && "tokens" in outcome) {
      keep(outcome.tokens);
    } else if (outcome) {
      loginError.value = outcome.error;
    }
    go(outcome && "tokens" in outcome ? outcome.target : "/", { replace: true });
  });
}
