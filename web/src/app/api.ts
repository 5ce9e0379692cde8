/** Calls to the gateway's own APIs, with the person's token. */

import { hasText, language, t } from "./i18n";
import { lose, reachable } from "./reachable";
import { accessToken, checkOperator, renew } from "./session";

const TIMEOUT = 15_000;
const PAUSES = [300, 1_000, 3_000];
const MANAGEMENT = "/manage/";

/** RFC 9457. */
interface Problem {
  readonly title?: string;
  readonly detail?: string;
  /** A stable word for the refusal. Its text is `error.reason.WORD`. */
  readonly reason?: string;
  readonly [extension: string]: unknown;
}

/** The address of a page, and the words of the link to it. */
export type PageLink = readonly [href: string, words: string];

/** What a person reads about an error: a sentence, and the page on which the person can solve it, if there is one. */
export interface Failure {
  readonly words: string;
  readonly solution: PageLink | null;
}

/** Operators and developers get the detail of the API, which is in English. Residents get a sentence in their language. */
const FOR_EXPERTS = /^\/(?:manage|developer)\//;

/** Where an operator solves a refusal of the management API, by its reason: a page, and the key of the words for it. */
const PAGES_FOR_OPERATORS: Readonly<Record<string, PageLink>> = {
  last_operator: ["/console/people", "error.open_people"],
  mail_failed: ["/console/settings", "error.open_settings"],
  no_such_user: ["/console/people", "error.open_people"],
  owns_plants: ["/console/plants", "error.open_plants"],
  set_in_settings: ["/console/settings", "error.open_settings"],
};

/** A request that failed. `words` is a sentence for the person. Status 0: the gateway could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
    readonly requestId: string | null = null,
    readonly path = "",
  ) {
    super(problem.detail ?? problem.title ?? `status ${status}`);
  }

  get words(): string {
    if (this.status === 0) return t("error.unreachable");
    if (this.status === 401) return t("error.logged_out");
    const { detail, reason = "" } = this.problem;
    const known = `error.reason.${reason}`;
    const forExperts = this.status !== 500 && FOR_EXPERTS.test(this.path);
    if (detail && forExperts && language.value === "en") return detail;
    if (hasText(known)) return t(known);
    if (this.status === 403) return t("error.forbidden");
    if (this.status === 404) return t("error.not_found");
    if (this.status === 429) return t("error.too_many");
    if (this.status === 469) return t("error.password_expired");
    if (this.status === 470) return t("error.terms_expired");
    if (detail && forExperts) return t("error.refused_details", { detail });
    if (this.status >= 500) return t("error.broken", { id: this.requestId ?? "" });
    return detail ? t("error.refused_details", { detail }) : t("error.refused");
  }

  /** The page on which the person can do what the gateway asks for. */
  get solution(): PageLink | null {
    if (this.status === 469) return ["/auth/account/password", t("error.choose_password")];
    if (this.status === 470) return ["/auth/account/terms", t("error.accept_terms")];
    if (!this.path.startsWith(MANAGEMENT)) return null;
    if (this.status === 403) return ["/", t("common.to_door")];
    const page = PAGES_FOR_OPERATORS[this.problem.reason ?? ""];
    return page ? [page[0], t(page[1])] : null;
  }
}

export interface Options {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

function address(path: string, query: Options["query"] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    return (await response.json()) as Problem;
  } catch {
    return {};
  }
}

async function send(method: string, path: string, options: Options): Promise<Response> {
  const headers = new Headers(options.headers);
  headers.set("authorization", `Bearer ${await accessToken()}`);
  const request: RequestInit = { method, headers, signal: until(options) };
  if (options.body !== undefined) {
    headers.set("content-type", "application/json");
    request.body = JSON.stringify(options.body);
  }
  return fetch(address(path, options.query), request);
}

function until({ signal, timeout = TIMEOUT }: Options): AbortSignal {
  const limit = AbortSignal.timeout(timeout);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

/** Send a request. Only reading is tried again when the network fails: a command must not be given twice. */
export async function request(method: string, path: string, options: Options = {}): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    let response: Response;
    try {
      response = await send(method, path, options);
      if (response.status === 401) {
        await renew();
        response = await send(method, path, options);
      }
    } catch (error) {
      if (options.signal?.aborted) throw error;
      const pause = PAUSES[attempt];
      if (method !== "GET" || pause === undefined) {
        lose();
        throw new ApiError(0, { detail: String(error) });
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      continue;
    }
    reachable.value = true;
    if (response.ok) return response;
    if (response.status === 403 && path.startsWith(MANAGEMENT)) void checkOperator().catch(() => undefined);
    throw new ApiError(response.status, await problemOf(response), response.headers.get("x-request-id"), path);
  }
}

async function json<T>(response: Response): Promise<T> {
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export const api = {
  get: async <T>(path: string, options?: Options): Promise<T> => json<T>(await request("GET", path, options)),
  post: async <T>(path: string, body?: unknown, options?: Options): Promise<T> =>
    json<T>(await request("POST", path, { ...options, body })),
  put: async <T>(path: string, body: unknown, options?: Options): Promise<T> =>
    json<T>(await request("PUT", path, { ...options, body })),
  patch: async <T>(path: string, body: unknown, options?: Options): Promise<T> =>
    json<T>(await request("PATCH", path, { ...options, body })),
  delete: async (path: string, options?: Options): Promise<void> => {
    await request("DELETE", path, options);
  },
};

/** What the person reads about any error. */
export function failureOf(error: unknown): Failure {
  return error instanceof ApiError ? { words: error.words, solution: error.solution } : { words: t("error.page"), solution: null };
}

/** The sentence for the person about any error. */
export function wordsFor(error: unknown): string {
  return failureOf(error).words;
}
