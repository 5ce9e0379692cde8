/** A form for the options of a module, from the JSON Schema of its driver. */

import { t } from "../app/i18n";
import { lines, text, type FormField, type Values } from "../kit/form";

export interface OptionsSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, OptionsSchema>>;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, OptionsSchema>>;
  readonly required?: readonly string[];
  readonly items?: OptionsSchema | false;
  readonly anyOf?: readonly OptionsSchema[];
  /** Which of the variants in `anyOf` holds: the value of this property decides. */
  readonly discriminator?: { readonly propertyName: string; readonly mapping: Readonly<Record<string, string>> };
}

export type Options = Readonly<Record<string, unknown>>;

function follow(root: OptionsSchema, schema: OptionsSchema): OptionsSchema {
  return schema.$ref ? (root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {}) : schema;
}

/** The schema of the options with the chosen value of the discriminator. */
function variantOf(root: OptionsSchema, options: Options): OptionsSchema {
  const { discriminator } = root;
  if (!discriminator) return root;
  const chosen = String(options[discriminator.propertyName] ?? Object.keys(discriminator.mapping)[0]);
  return follow(root, { $ref: discriminator.mapping[chosen] ?? "" });
}

/** A value that may also be null is a value that may be missing. */
function withoutNull(root: OptionsSchema, schema: OptionsSchema): OptionsSchema {
  const { anyOf, ...rest } = follow(root, schema);
  const others = anyOf?.filter(({ type }) => type !== "null") ?? [];
  return others.length === 1 && others[0] ? { ...follow(root, others[0]), ...rest } : { anyOf: others, ...rest };
}

const SCALARS = ["string", "integer", "number"];

function isScalarList({ type, items }: OptionsSchema): boolean {
  return type === "array" && items !== undefined && items !== false && SCALARS.includes(items.type ?? "");
}

/** The field of one option. Lists and objects that have no simple form are JSON. */
function fieldOf(name: string, schema: OptionsSchema, value: unknown, required: boolean): FormField {
  const { type, description = "", default: usual } = schema;
  const hint = [description, usual !== undefined && usual !== null && usual !== "" ? t("console.settings.default", { value: JSON.stringify(usual) }) : ""].filter(Boolean).join(" ");
  const base = { name, label: name, hint };
  const allowed = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]) ?? (type === "boolean" ? [true, false] : undefined);
  const present = value === undefined || value === null ? "" : String(value);
  if (allowed) return { kind: "choice", ...base, value: present || (required ? String(allowed[0]) : ""), options: [...(required ? [] : [["", "–"] as const]), ...allowed.map((one) => [String(one), String(one)] as const)] };
  if (isScalarList(schema)) return { kind: "lines", ...base, value: Array.isArray(value) ? value.map(String) : [] };
  if (type === "integer" || type === "number") {
    return { kind: "text", ...base, type: "number", step: type === "integer" ? "1" : "any", required, value: present, ...(schema.minimum === undefined ? {} : { min: schema.minimum }), ...(schema.maximum === undefined ? {} : { max: schema.maximum }) };
  }
  if (type === "string") return { kind: "text", ...base, required, value: present };
  return { kind: "block", ...base, hint: `JSON. ${hint}`, value: value === undefined || value === null ? "" : JSON.stringify(value, null, 2) };
}

export function optionFields(root: OptionsSchema, options: Options) {
  return (given: Values): readonly FormField[] => {
    const { discriminator } = root;
    const present = { ...options, ...(discriminator && given[discriminator.propertyName] ? { [discriminator.propertyName]: given[discriminator.propertyName] } : {}) };
    const { properties = {}, required = [] } = variantOf(root, present);
    return Object.entries(properties).map(([name, schema]) => {
      const field = fieldOf(name, withoutNull(root, schema), present[name], required.includes(name));
      const choices = discriminator?.propertyName === name ? Object.keys(discriminator.mapping) : null;
      return choices ? { kind: "choice", name, label: name, value: String(present[name] ?? choices[0]), options: choices.map((one) => [one, one] as const) } : field;
    });
  };
}

/** The options of the form. Empty fields are left out: the driver uses its default. Raises an error for wrong JSON. */
export function optionsOf(root: OptionsSchema, options: Options, values: Values): Options {
  const fields = optionFields(root, options)(values);
  const { properties = {} } = variantOf(root, values);
  return Object.fromEntries(
    fields.flatMap((field) => {
      const schema = withoutNull(root, properties[field.name] ?? {});
      if (field.kind === "lines") {
        const given = lines(values, field.name);
        return given.length ? [[field.name, given.map((one) => typed(schema.items || {}, one))]] : [];
      }
      const given = text(values, field.name);
      return given ? [[field.name, field.kind === "block" ? JSON.parse(given) : typed(schema, given)]] : [];
    }),
  );
}

function typed({ type, enum: allowed = [], const: only }: OptionsSchema, given: string): unknown {
  const known = [...allowed, only].find((one) => String(one) === given);
  if (known !== undefined) return known;
  if (type === "boolean") return given === "true";
  return type === "integer" || type === "number" ? Number(given) : given;
}
