/** The login of a program in Node: a redirect to a loopback address (RFC 8252). Browsers do not load this file. */

import { spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import { platform } from "node:process";
import { DomogateError, LoginFailed } from "./errors.js";
import { beginLogin, finishLogin, type LoginSettings } from "./login.js";
import { LONGEST_TIMER } from "./retries.js";
import type { Session } from "./tokens.js";

/** Registered without a port, so that the program may listen on any port. */
const REDIRECT_URI = "http://127.0.0.1/callback";
const PATIENCE = 300_000;
/** Another program on this machine may connect and send nothing. */
const SLOWEST = 5_000;
const DONE = "<!doctype html><meta charset=utf-8><title>Logged in</title><p>You can close this page and return to the application.";
const WRONG = "<!doctype html><meta charset=utf-8><title>Not found</title><p>This address only receives the answer of a login.";

export interface LoopbackSettings extends LoginSettings {
  /** A loopback address as it is registered for the application. Default: `http://127.0.0.1/callback`. */
  readonly redirectUri?: string;
  /** Shows the URL to the person. Default: opens the browser of this machine. */
  readonly openBrowser?: (url: string) => unknown;
  /** The milliseconds that the person has. Default: 5 minutes. */
  readonly patience?: number;
  /** Stops the login. */
  readonly signal?: AbortSignal;
}

/** Open the person's browser, wait until the person has logged in, and return the session. */
export async function logIn(
  baseUrl: string,
  clientId: string,
  scopes: readonly string[],
  settings: LoopbackSettings = {},
): Promise<Session> {
  const { redirectUri = REDIRECT_URI, openBrowser = open, patience = PATIENCE, signal } = settings;
  signal?.throwIfAborted();
  const loopback = await Loopback.listen(redirectUri);
  try {
    const attempt = await beginLogin(baseUrl, clientId, scopes, loopback.redirectUri);
    const returned = loopback.wait(attempt.state, patience, signal);
    // If the browser cannot be opened, nobody waits for the answer.
    returned.catch(() => undefined);
    await openBrowser(attempt.url);
    return await finishLogin(attempt, await returned, settings);
  } finally {
    loopback.close();
  }
}

/** A small HTTP server on the loopback interface. It receives the browser after a login. */
class Loopback {
  readonly #url: URL;
  readonly #server: Server;
  #state: string | undefined;
  #returned: (url: string) => void = () => undefined;
  #stopWaiting: () => void = () => undefined;

  private constructor(url: URL) {
    this.#url = url;
    const limits = { requestTimeout: SLOWEST, headersTimeout: SLOWEST, connectionsCheckingInterval: 1_000, maxHeaderSize: 16_384 };
    this.#server = createServer(limits, (request, response) => {
      const body = this.#take(request.method, request.url ?? "") ? DONE : WRONG;
      const headers = { "content-type": "text/html; charset=utf-8", connection: "close" };
      response.writeHead(body === DONE ? 200 : 404, headers).end(body);
    });
  }

  get redirectUri(): string {
    return this.#url.href;
  }

  /** Listen at a redirect URI. If the URI has no port, the system chooses a free port. */
  static async listen(redirectUri: string): Promise<Loopback> {
    const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
    if (url?.protocol !== "http:" || !["127.0.0.1", "[::1]"].includes(url.hostname)) {
      throw new LoginFailed("wrong_redirect_uri", `${redirectUri} is not http://127.0.0.1/… or http://[::1]/…`);
    }
    const loopback = new Loopback(url);
    const server = loopback.#server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => reject(new DomogateError(`the program cannot listen at ${redirectUri}: ${error.message}`)));
      server.listen(Number(url.port), url.hostname.replace(/^\[|\]$/g, ""), resolve);
    });
    url.port = String(server.address().port);
    return loopback;
  }

  /** The URL with which the browser came back. Requests without the state are answered with 404. */
  wait(state: string, patience: number, signal: AbortSignal | undefined): Promise<string> {
    this.#state = state;
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new LoginFailed("timeout", `the person did not log in within ${Math.round(patience / 1000)} s`));
      const stop = (): void => reject(signal?.reason as Error);
      const timer = setTimeout(late, Math.min(patience, LONGEST_TIMER));
      signal?.addEventListener("abort", stop, { once: true });
      this.#stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
      };
      this.#returned = resolve;
    });
  }

  #take(method: string | undefined, target: string): boolean {
    const url = URL.canParse(target, this.redirectUri) ? new URL(target, this.redirectUri) : undefined;
    const isOurs = method === "GET" && url?.origin === this.#url.origin && url.pathname === this.#url.pathname;
    const isAnswer = isOurs && url.searchParams.get("state") === this.#state;
    if (isAnswer) this.#returned(url.href);
    return isAnswer;
  }

  close(): void {
    this.#stopWaiting();
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Open the browser of this machine. */
function open(url: string): void {
  const [command, ...words] =
    platform === "darwin" ? ["open"] : platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
  const started = spawn(command ?? "", [...words, url], { detached: true, stdio: "ignore" });
  started.on("error", () => undefined);
  started.unref();
}
