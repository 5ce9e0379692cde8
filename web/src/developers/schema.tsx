/** The shape of a body: its fields with types and rules. Objects inside it can be opened. */

import { useState } from "preact/hooks";
import { t } from "../app/i18n";
import { resolve, type ApiDocument, type Parameter, type Schema } from "./openapi";
import { Prose } from "./prose";

interface SchemaProps {
  readonly schema: Schema;
  readonly document: ApiDocument;
}

export function SchemaView({ schema, document }: SchemaProps) {
  const [found] = resolve(schema, document);
  const inner = innerOf(found, document);
  const fields = Object.entries(found.properties ?? {});
  return (
    <>
      {found.description && <Prose text={found.description} />}
      {!fields.length && (
        <p>
          <code>{typeWords(schema, document)}</code>
        </p>
      )}
      {fields.length > 0 && (
        <ul class="fields">
          {fields.map(([name, field]) => (
            <FieldView key={name} name={name} schema={field} document={document} required={found.required?.includes(name) ?? false} />
          ))}
        </ul>
      )}
      {inner.map((one) => (
        <Inside key={one.$ref} schema={one} document={document} />
      ))}
    </>
  );
}

/** Parameters that nobody fills in here, because the reader cannot send the request. */
export function ParameterList({ parameters, document }: { parameters: readonly Parameter[]; document: ApiDocument }) {
  return (
    <ul class="fields">
      {parameters.map(({ name, schema, description, required }) => (
        <FieldView key={name} name={name} schema={description ? { ...schema, description } : schema} document={document} required={required ?? false} />
      ))}
    </ul>
  );
}

function FieldView({ name, schema, document, required }: SchemaProps & { name: string; required: boolean }) {
  const [found] = resolve(schema, document);
  const rules = rulesOf(found);
  const inner = found.properties ? [schema] : innerOf(found, document);
  return (
    <li>
      <code class="field-name">{name}</code> <span class="soft">{typeWords(schema, document)}</span> {required && <span class="tag">{t("developers.reference.required")}</span>}
      {rules && <span class="soft field-rules">{rules}</span>}
      {found.description && !found.properties && <Prose text={found.description} />}
      {inner.map((one) => (
        <Inside key={one.$ref} schema={one} document={document} />
      ))}
    </li>
  );
}

/** An object inside another one. It is drawn when it is opened, because objects can contain themselves. */
function Inside({ schema, document }: SchemaProps) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{resolve(schema, document)[1] || t("developers.reference.fields")}</summary>
      {open && <SchemaView schema={schema} document={document} />}
    </details>
  );
}

/** The objects that an array or a choice contains. */
function innerOf(schema: Schema, document: ApiDocument): readonly Schema[] {
  const parts = schema.items ? [schema.items] : (schema.anyOf ?? []);
  return parts.flatMap((part) => {
    const [found] = resolve(part, document);
    if (found.properties) return [part];
    return found.items ? innerOf(found, document) : [];
  });
}

/** A body that fits the schema, as a start for the reader. */
export function sampleOf(schema: Schema, document: ApiDocument): unknown {
  const [found] = resolve(schema, document);
  if (found.enum) return found.enum[0];
  if (found.const !== undefined) return found.const;
  // An empty text is rarely allowed, so a text that may be missing is null.
  if (found.anyOf) return sampleOf(found.anyOf[0] ?? {}, document) || (found.anyOf.some(({ type }) => type === "null") ? null : "");
  if (found.properties) return Object.fromEntries(Object.entries(found.properties).map(([name, field]) => [name, sampleOf(field, document)]));
  if (found.items) return [sampleOf(found.items, document)];
  if (found.type === "boolean") return true;
  if (found.type === "integer" || found.type === "number") return sampleNumber(found);
  return found.type === "null" ? null : "";
}

/** A value in the middle of a small range, such as a level; otherwise the least value. */
function sampleNumber({ minimum = 0, maximum = Infinity }: Schema): number {
  return maximum - minimum <= 500 ? Math.round((minimum + maximum) / 2) : minimum;
}

/** `array of Plant`, `"on" | "off"`, `string or null`. */
export function typeWords(schema: Schema, document: ApiDocument): string {
  const [found, name] = resolve(schema, document);
  if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  if (found.anyOf) return found.anyOf.map((one) => typeWords(one, document)).join(` ${t("developers.reference.or")} `);
  if (found.items) return t("developers.reference.list_of", { type: typeWords(found.items, document) });
  if (name) return name;
  return [found.type ?? "object", found.format && `(${found.format})`].filter(Boolean).join(" ");
}

function rulesOf({ minimum, maximum, minLength, maxLength, pattern, default: preset }: Schema): string {
  return [
    (minimum ?? maximum) !== undefined && `${minimum ?? "…"} – ${maximum ?? "…"}`,
    (minLength ?? maxLength) !== undefined && t("developers.reference.length", { least: minLength ?? 0, most: maxLength ?? "…" }),
    pattern,
    preset !== undefined && t("developers.reference.default", { value: JSON.stringify(preset) }),
  ]
    .filter(Boolean)
    .join(" · ");
}
