/** Completion for the estate file: the place of the cursor in the YAML text, and what the JSON Schema allows there. */

export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly allOf?: readonly Schema[];
  readonly if?: Schema;
  readonly then?: Schema;
  readonly propertyNames?: Schema;
}

export interface Suggestion {
  readonly label: string;
  readonly insert: string;
  readonly about: string;
}

export interface Completion {
  /** The column where the completed word begins. */
  readonly from: number;
  readonly suggestions: readonly Suggestion[];
}

/** A dash of a list, or a key of a mapping, in the order of the text. */
interface Opener {
  readonly line: number;
  readonly indent: number;
  /** Missing for a dash. */
  readonly key?: string;
  readonly value?: string;
}

const KEY = /^(["']?)([\w-]+)\1\s*:(?:\s+(.*))?$/;

function openersOf(line: string, number: number): readonly Opener[] {
  const found: Opener[] = [];
  let indent = line.length - line.trimStart().length;
  while (line[indent] === "-" && (line[indent + 1] ?? " ") === " ") {
    found.push({ line: number, indent });
    indent += 1;
    while (line[indent] === " ") indent += 1;
  }
  const [, , key, value = ""] = KEY.exec(line.slice(indent)) ?? [];
  if (key) found.push({ line: number, indent, key, value: value.replace(/\s+#.*$|^["']|["']$/g, "").trim() });
  return found;
}

/** The keys and values of the mapping at this indent around the opener with this number. */
function mappingAt(openers: readonly Opener[], around: number, indent: number): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const take = ({ indent: at, key, value = "" }: Opener): boolean => {
    if (at === indent && key) values.set(key, value);
    return at >= indent;
  };
  for (let index = around - 1; index >= 0 && take(openers[index] as Opener); index--);
  for (let index = around; index < openers.length && take(openers[index] as Opener); index++);
  return values;
}

interface Place {
  /** A key, or null for an entry of a list, with the mapping that has the key. */
  readonly steps: readonly { readonly key: string | null; readonly mapping: ReadonlyMap<string, string> }[];
  readonly mapping: ReadonlyMap<string, string>;
}

/** The way from the root to the mapping at `indent`, before the opener with the number `before`. */
function placeOf(openers: readonly Opener[], before: number, indent: number): Place {
  const steps: Place["steps"][number][] = [];
  let limit = indent;
  let isEntry = false;
  for (let index = before - 1; index >= 0; index--) {
    const { indent: at, key } = openers[index] as Opener;
    // A list may have the same indent as the key that it belongs to.
    if (at > limit || (at === limit && !(isEntry && key))) continue;
    steps.unshift({ key: key ?? null, mapping: key ? mappingAt(openers, index, at) : new Map() });
    limit = at;
    isEntry = key === undefined;
  }
  return { steps, mapping: mappingAt(openers, before, indent) };
}

/** Follow references, and add what the conditions of the schema say about the values of the mapping. */
function resolve(root: Schema, schema: Schema, mapping: ReadonlyMap<string, string>): Schema {
  const { $ref, ...own } = schema;
  const base = $ref ? { ...resolve(root, root.$defs?.[$ref.replace("#/$defs/", "")] ?? {}, mapping), ...own } : own;
  return [base, ...(base.allOf ?? [])].reduce<Schema>((known, part) => {
    if (!part.if || !part.then || !holds(part.if, mapping)) return known;
    const { properties = {}, propertyNames } = part.then;
    return { ...known, properties: { ...known.properties, ...properties }, ...(propertyNames ? { propertyNames } : {}) };
  }, base);
}

function holds(condition: Schema, mapping: ReadonlyMap<string, string>): boolean {
  return Object.entries(condition.properties ?? {}).every(([key, { const: only, enum: allowed = [only] }]) => mapping.has(key) && allowed.map(String).includes(mapping.get(key) ?? ""));
}

/** What may stand at this line (from 0) and column; null if the schema says nothing about it. */
export function complete(root: Schema, lines: readonly string[], line: number, column: number): Completion | null {
  const before = (lines[line] ?? "").slice(0, column);
  const openers = lines.flatMap((text, number) => (number === line ? [] : openersOf(text, number)));
  const here = openersOf(before, line);
  const at = openers.filter((one) => one.line < line).length;
  const dashes = here.filter(({ key }) => key === undefined);
  const all = [...openers.slice(0, at), ...dashes, ...openers.slice(at)];
  const last = here.at(-1);
  const value = /:\s+(["']?)([^"']*)$/.exec(before);
  const word = /[\w-]*$/.exec(before)?.[0] ?? "";
  const indent = last?.key ? last.indent : before.length - word.length;
  const { steps, mapping } = placeOf(all, at + dashes.length, indent);
  const node = [...steps, { key: "", mapping }].reduce<Schema | null>((known, { key, mapping: values }) => {
    if (!known) return null;
    if (key === null) return resolve(root, known, values).items ?? null;
    const found = resolve(root, known, values);
    return key === "" ? found : (found.properties?.[key] ?? null);
  }, root);
  if (!node) return null;
  if (last?.key) {
    const property = node.properties?.[last.key];
    return property && value ? { from: column - (value[2] ?? "").length, suggestions: valuesOf(resolve(root, property, new Map())) } : null;
  }
  const names = node.propertyNames?.enum?.map(String);
  const suggestions = Object.entries(node.properties ?? {})
    .filter(([key]) => !mapping.has(key) && (!names || names.includes(key)))
    .map(([key, property]) => keyOf(key, resolve(root, property, new Map())));
  return { from: column - word.length, suggestions };
}

function keyOf(key: string, { type, title = "", description = title }: Schema): Suggestion {
  return { label: key, insert: type === "object" || type === "array" ? `${key}:` : `${key}: `, about: description };
}

function valuesOf({ type, enum: allowed = type === "boolean" ? [true, false] : [] }: Schema): readonly Suggestion[] {
  return allowed.map((value) => ({ label: String(value), insert: String(value), about: "" }));
}
