/** A form in a dialog, from declared fields. A refusal of the gateway is shown in the dialog, and the entries stay. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { failureOf, type Failure } from "../app/api";
import { t } from "../app/i18n";
import { toInstant } from "../app/local_time";
import { Dialog, DialogButtons } from "../parts/dialog";
import { Field, Select, Switch } from "../parts/field";
import { Choices, type Option } from "./choices";

interface Base {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
}

export type FormField =
  | (Base & { readonly kind: "text"; readonly value?: string; readonly type?: "email" | "number" | "date" | "datetime-local" | "url"; readonly required?: boolean; readonly step?: string; readonly min?: number; readonly max?: number })
  | (Base & { readonly kind: "choice"; readonly value: string; readonly options: readonly (readonly [string, string])[] })
  | (Base & { readonly kind: "switch"; readonly value: boolean })
  /** JSON, or nothing. */
  | (Base & { readonly kind: "block"; readonly value: string })
  /** A list of texts, one on each line. */
  | (Base & { readonly kind: "lines"; readonly value: readonly string[]; /** The sentence if there is no line. */ readonly required?: string | undefined })
  /** Several of the options. `required` is the sentence if none is chosen; without it, none needs to be chosen. */
  | (Base & { readonly kind: "choices"; readonly value: readonly string[]; readonly options: readonly Option[]; readonly required?: string | undefined });

type Value = string | boolean | readonly string[];
export type Values = Readonly<Record<string, Value>>;

export type Fields = readonly FormField[] | ((values: Values) => readonly FormField[]);

/** Submits a form. A refusal of the gateway becomes the `problem`, and the entries stay. */
export function useSubmit(submit: () => Promise<unknown>) {
  const [problem, setProblem] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setProblem(null);
    setBusy(true);
    try {
      await submit();
    } catch (error) {
      setProblem(failureOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { problem, busy, send };
}

interface FormDialogProps {
  readonly title: string;
  readonly about?: string | undefined;
  /** The fields, or a function that gives them for the present values. */
  readonly fields: Fields;
  readonly submit: string;
  readonly danger?: boolean;
  /** The dialog closes when the promise is fulfilled. */
  readonly onSubmit: (values: Values) => Promise<unknown>;
  readonly onClose: () => void;
}

export function FormDialog({ title, about, fields, submit, danger = false, onSubmit, onClose }: FormDialogProps) {
  const [given, setGiven] = useState<Values>({});
  const shown = typeof fields === "function" ? fields(given) : fields;
  const values: Values = Object.fromEntries(shown.map((field) => [field.name, given[field.name] ?? field.value ?? ""]));
  const [incomplete, setIncomplete] = useState(false);
  const { problem, busy, send } = useSubmit(async () => {
    const isIncomplete = shown.some((field) => mistakeOf(field, values));
    setIncomplete(isIncomplete);
    if (isIncomplete) return;
    await onSubmit(values);
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={send}>
        {about && <p class="soft">{about}</p>}
        {shown.map((field) => (
          <OneField key={field.name} field={field} mistake={incomplete ? mistakeOf(field, values) : ""} value={values[field.name] ?? ""} onInput={(value) => setGiven((last) => ({ ...last, [field.name]: value }))} />
        ))}
        <DialogButtons problem={problem}>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={busy} aria-busy={busy}>
            {submit}
          </button>
          <button type="button" onClick={onClose}>
            {t("common.cancel")}
          </button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function mistakeOf(field: FormField, values: Values): string {
  if (field.kind === "block") return jsonMistake(text(values, field.name));
  return (field.kind === "choices" || field.kind === "lines") && !lines(values, field.name).length ? (field.required ?? "") : "";
}

function jsonMistake(given: string): string {
  try {
    if (given) JSON.parse(given);
    return "";
  } catch (error) {
    return t("common.not_json", { problem: error instanceof Error ? error.message : "" });
  }
}

function OneField({ field, mistake, value, onInput }: { field: FormField; mistake: string; value: Value; onInput: (value: Value) => void }) {
  switch (field.kind) {
    case "text": {
      const { kind, name, value: first, ...rest } = field;
      return <Field {...rest} value={String(value)} onInput={onInput} />;
    }
    case "choice":
      return <Select label={field.label} hint={field.hint} value={String(value)} options={field.options} onChange={onInput} />;
    case "switch":
      return (
        <div class="field">
          <Switch label={field.label} on={value === true} onChange={onInput} />
          {field.hint && <p class="hint">{field.hint}</p>}
        </div>
      );
    case "lines":
      return <Block label={field.label} value={(value as readonly string[]).join("\n")} hint={field.hint ?? t("common.one_per_line")} mistake={mistake} onInput={(words) => onInput(words.split("\n"))} />;
    case "block":
      return <Block label={field.label} value={String(value)} hint={field.hint ?? ""} mistake={mistake} onInput={onInput} />;
    case "choices":
      return (
        <Choices label={field.label} hint={field.hint ?? ""} options={field.options} present={field.value} chosen={value as readonly string[]} onChoose={onInput}>
          {mistake && <Mistake words={mistake} />}
        </Choices>
      );
  }
}

/** What is missing in a field. In a long form the field may be out of view: it is scrolled into view. */
function Mistake({ words }: { words: string }) {
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => element.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <p class="problem" role="alert" ref={element}>
      {words}
    </p>
  );
}

interface BlockProps {
  readonly label: string;
  readonly value: string;
  readonly hint: string;
  readonly rows?: number;
  readonly mistake?: string;
  readonly onInput: (value: string) => void;
}

/** A text of several lines. */
export function Block({ label, value, hint, rows = 3, mistake = "", onInput }: BlockProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      {mistake && <Mistake words={mistake} />}
      <textarea id={id} rows={rows} spellcheck={false} aria-invalid={Boolean(mistake)} aria-describedby={`${id}-hint`} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </div>
  );
}

export function text(values: Values, name: string): string {
  return String(values[name] ?? "").trim();
}

export function lines(values: Values, name: string): readonly string[] {
  const given = values[name];
  return Array.isArray(given) ? (given as readonly string[]).map((line) => line.trim()).filter(Boolean) : [];
}

/** A number, or null for an empty field. */
export function number(values: Values, name: string): number | null {
  const given = text(values, name);
  return given ? Number(given) : null;
}

/** A time of the person's own time zone as the API writes it, or null for an empty field. */
export function time(values: Values, name: string): string | null {
  return toInstant(text(values, name));
}
