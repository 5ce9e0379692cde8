/** Declarations of operations, and the URLs that they make. */

/** One operation of the gateway. The files of `api/` have a declaration for each of them. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  /** `{id}` stands for an id, `{}` for another parameter. */
  readonly path: string;
  /** The kind of token. `given`: the caller passes the token. */
  readonly token: "id" | "access" | "given" | "none";
  /** Whether the operation needs the subscription key. */
  readonly key: boolean;
  /** What the answer is, if it is not JSON. */
  readonly answer?: "content" | "nothing";
  readonly hexIds?: true;
  readonly etag?: true;
  /** Whether the operation takes an idempotency key, so that it can be repeated. */
  readonly repeatable?: true;
  /** The JSON that stands for an answer with the status 204. */
  readonly empty?: string;
}

const PLACE = /\{(?:id)?\}/g;
const ID = /^[0-9a-fA-F-]{32,36}$/;

function spellId(id: string, hexIds: boolean): string {
  const digits = id.replaceAll("-", "");
  if (hexIds || digits.length !== 32) return hexIds ? digits : id;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** A text as one segment of a path. URL parsers remove the segments `.` and `..`, even if they are percent-encoded. */
function segment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new TypeError(`${JSON.stringify(text)} cannot be part of a path`);
  return encodeURIComponent(text);
}

/** The path and the query of a request. Ids may have any spelling: with or without dashes. */
export function urlOf(operation: Operation, path: readonly string[], query?: object): string {
  const values = [...path];
  const url = operation.path.replace(PLACE, (place) => {
    const value = values.shift() ?? "";
    return place === "{id}" && ID.test(value) ? spellId(value, operation.hexIds === true) : segment(value);
  });
  return withQuery(url, query);
}

/** A URL with a query. A list gives its parameter several times; a parameter without a value is left out. */
export function withQuery(url: string, query: object = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) pairs.append(name, String(one));
    }
  }
  const text = pairs.toString();
  return text ? `${url}?${text}` : url;
}
