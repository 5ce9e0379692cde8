/** The gateway's OpenAPI documents, as far as the reference shows them. Everybody may read them. */

import { ApiError } from "../app/api";

export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Body {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
}

type Security = readonly Readonly<Record<string, unknown>>[];

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
  readonly security?: Security;
  /** The id in the specification, such as E8. */
  readonly "x-operation"?: string;
  readonly "x-scopes-any-of"?: readonly string[];
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: Security;
  readonly paths: Paths;
  /** Requests that the gateway sends. */
  readonly webhooks?: Paths;
  readonly components: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly securitySchemes?: Readonly<Record<string, { readonly type: string }>>;
  };
}

/** An operation with its place in the reference. */
export interface Entry {
  readonly api: string;
  readonly document: ApiDocument;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Whether the gateway sends this request, so that nobody can try it here. */
  readonly sent: boolean;
}

const read = new Map<string, Promise<unknown>>();

/** Read JSON that needs no login. It is read once while the page is open. */
function readOnce<T>(path: string): Promise<T> {
  const found = read.get(path) ?? fetchJson(path);
  read.set(path, found);
  found.catch(() => read.delete(path));
  return found as Promise<T>;
}

async function fetchJson(path: string): Promise<unknown> {
  const response = await fetch(path).catch((error: unknown) => {
    throw new ApiError(0, { text: String(error) });
  });
  if (!response.ok) throw new ApiError(response.status);
  return response.json();
}

/** The addresses of all documents, by the name of the API. */
export async function readIndex(): Promise<Readonly<Record<string, string>>> {
  const { documents } = await readOnce<{ documents: Readonly<Record<string, string>> }>("/openapi");
  return documents;
}

export async function readDocument(api: string): Promise<ApiDocument> {
  const address = (await readIndex())[api];
  if (!address) throw new ApiError(404);
  return readOnce<ApiDocument>(new URL(address).pathname);
}

export async function readAll(): Promise<readonly (readonly [string, ApiDocument])[]> {
  const names = Object.keys(await readIndex());
  return Promise.all(names.map(async (api) => [api, await readDocument(api)] as const));
}

export function listEntries(api: string, document: ApiDocument): readonly Entry[] {
  const of = (paths: Paths, sent: boolean): readonly Entry[] =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ api, document, method: method.toUpperCase(), path, operation, sent })),
    );
  return [...of(document.paths, false), ...of(document.webhooks ?? {}, true)];
}

/** `Domogate: home automation` becomes `Home automation`. */
export function titleOf(document: ApiDocument): string {
  const name = document.info.title.replace(/^Domogate: /, "");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The schema that a reference names, with the name. */
export function resolve(schema: Schema, document: ApiDocument): readonly [Schema, string] {
  const name = schema.$ref?.split("/").at(-1) ?? "";
  return [document.components.schemas?.[name] ?? schema, name];
}

export interface Needs {
  readonly key: boolean;
  /** The token of the person. */
  readonly token: boolean;
  /** Another bearer token, such as the one of a picture. */
  readonly other: string | null;
}

/** The credentials that the operation needs. */
export function needsOf({ document, operation }: Entry): Needs {
  const names = (operation.security ?? document.security).flatMap((one) => Object.keys(one));
  const isKey = (name: string): boolean => document.components.securitySchemes?.[name]?.type === "apiKey";
  const other = names.find((name) => name !== "token" && !isKey(name));
  return { key: names.some(isKey), token: names.includes("token"), other: other ?? null };
}
