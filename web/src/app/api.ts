/** Calls to the gateway's own APIs, with the person's token. */

import { type Answer, DomogateError, ETagCache, type Exchange, exchange, Lost, readRefusal, type Refusal, RETRIES, send, withQuery } from "@domogate/client/core";
import { hasText, language, t } from "./i18n";
import { lose, reachable } from "./reachable";
import { accessToken, checkOperator, LoginEnded, renew } from "./session";

const TIMEOUT = 15_000;
const RULES = { ...RETRIES, attempts: 4 };
const MANAGEMENT = "/manage/";

/** The address of a page, and the words of the link to it. */
export type PageLink = readonly [href: string, words: string];

/** What a person reads about an error: a sentence, and the page on which the person can solve it, if there is one. */
export interface Failure {
  readonly words: string;
  readonly solution: PageLink | null;
}

const cache = new ETagCache();

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
export class ApiError extends DomogateError {
  constructor(
    readonly status: number,
    /** The text is the detail of the answer. The reason is a stable word; its text is `error.reason.WORD`. */
    readonly refusal: Partial<Refusal> = {},
    readonly path = "",
  ) {
    super(refusal.text || `status ${status}`);
  }

  get words(): string {
    if (this.status === 0) return t("error.unreachable");
    if (this.status === 401) return t("error.logged_out");
    const { text: detail, reason = "", requestId = "" } = this.refusal;
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
    if (this.status >= 500) return t("error.broken", { id: requestId });
    return detail ? t("error.refused_details", { detail }) : t("error.refused");
  }

  /** The page on which the person can do what the gateway asks for. */
  get solution(): PageLink | null {
    if (this.status === 469) return ["/auth/account/password", t("error.choose_password")];
    if (this.status === 470) return ["/auth/account/terms", t("error.accept_terms")];
    if (!this.path.startsWith(MANAGEMENT)) return null;
    if (this.status === 403) return ["/", t("common.to_door")];
    const page = PAGES_FOR_OPERATORS[this.refusal.reason ?? ""];
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

/** Send a request. Only reading, and a command with an idempotency key, are tried again: a command must not be given twice. */
export async function request(method: string, path: string, options: Options = {}): Promise<Answer> {
  const { body, query, signal, timeout = TIMEOUT } = options;
  const headers = new Headers(options.headers);
  const url = withQuery(path, query);
  const limits = { ends: performance.now() + timeout, maxBytes: Infinity, signal };
  const asked: Exchange = {
    url,
    method,
    headers,
    body,
    limits,
    retries: RULES,
    mayRepeat: method === "GET" || headers.has("idempotency-key"),
    cache,
    // A proxy before the gateway may need its cookies.
    send: (init) => send(fetch, url, { ...init, credentials: "same-origin" }, limits),
    authorize: async () => headers.set("authorization", `Bearer ${await accessToken().catch(isLost)}`),
    renew: () => renew().then(() => true, isLost),
  };
  return exchange(asked, (answer) => {
    reachable.value = true;
    if (answer.status < 400) return answer;
    if (answer.status === 403 && path.startsWith(MANAGEMENT)) void checkOperator().catch(() => undefined);
    throw new ApiError(answer.status, readRefusal(answer, method), path);
  }).catch((error: unknown) => {
    if (error instanceof ApiError || signal?.aborted) throw error;
    lose();
    throw new ApiError(0, { text: String(error) });
  });
}

/** Without a token, no request was sent. After the end of the login, another attempt does not help. */
function isLost(error: unknown): never {
  if (error instanceof LoginEnded) throw new ApiError(401);
  throw new Lost(String(error), false, false);
}

/** The body of an answer as a file. */
export function blobOf({ headers, body }: Answer): Blob {
  return new Blob([body as BlobPart], { type: headers.get("content-type") ?? "" });
}

/** The body of an answer as a text. */
export function textOf({ body }: Answer): string {
  return new TextDecoder().decode(body);
}

function json<T>(answer: Answer): T {
  return (answer.status === 204 ? undefined : JSON.parse(textOf(answer))) as T;
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
