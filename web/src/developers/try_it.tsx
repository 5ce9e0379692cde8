/** Try an operation: fill in its parameters from lists, send it as the person who is logged in, and see everything. */

import { useLayoutEffect, useState } from "preact/hooks";
import { config } from "../app/config";
import { t } from "../app/i18n";
import { person } from "../app/session";
import { Section } from "../kit/parts";
import { Button } from "../parts/button";
import { Field, Select } from "../parts/field";
import { useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";
import { AnswerView } from "./answer";
import { KEY_HEADER, send, sendAsPerson, subscriptionKey, type Answer, type Call } from "./call";
import { CallCode } from "./code";
import { fitId, isHome, sourceFor, type Option } from "./lists";
import { LoginFirst } from "./login_first";
import { needsOf, resolve, type Entry, type Parameter } from "./openapi";
import { ParameterList, sampleOf } from "./schema";

type Values = Readonly<Record<string, string>>;

const idOf = ({ in: place, name }: Parameter): string => `${place} ${name}`;

export function TryIt({ entry }: { entry: Entry }) {
  const { operation, path, method } = entry;
  const needs = needsOf(entry);
  const example = operation.requestBody?.content?.["application/json"]?.example;
  const [values, setValues] = useState<Values>({});
  const [body, setBody] = useState(example === undefined ? "" : JSON.stringify(example, null, 2));
  const [other, setOther] = useState("");
  const [answer, setAnswer] = useState<Answer | null>(null);
  const parameters = operation.parameters ?? [];
  const home = parameters.find(({ name }) => isHome(name));
  const call = makeCall(entry, values, operation.requestBody ? body : null, needs.other ? other : "");
  if (path.startsWith("/manage/") && person.value && !person.value.operator) return <ForOperators parameters={parameters} document={entry.document} />;
  const run = async (): Promise<void> => {
    setAnswer(null);
    setAnswer(await (needs.token ? sendAsPerson(call) : send(call)));
  };
  return (
    <Section title={t("developers.try.title")} about={method === "GET" ? t("developers.try.about") : t("developers.try.changes")}>
      <div class="panel try-it">
        {parameters.map((parameter) => (
          <ParameterField
            key={idOf(parameter)}
            parameter={parameter}
            entry={entry}
            home={home ? (values[idOf(home)] ?? "") : ""}
            value={values[idOf(parameter)] ?? ""}
            onInput={(value) => setValues((last) => ({ ...last, [idOf(parameter)]: value }))}
          />
        ))}
        {needs.key && !config.demoKey && <KeyField />}
        {needs.other && <Field label={t("developers.try.other_token", { name: needs.other })} value={other} onInput={setOther} autocomplete="off" />}
        {operation.requestBody && <BodyField entry={entry} value={body} onInput={setBody} />}
        <CallCode call={call} authorized={needs.token} />
        {needs.token && !person.value ? (
          <LoginFirst why={t("developers.try.why_login")}>{null}</LoginFirst>
        ) : (
          <div class="buttons">
            <Button look="primary" disabled={call.url.includes("{")} onClick={run}>
              {t("developers.try.send")}
            </Button>
          </div>
        )}
        <AnswerView answer={answer} />
      </div>
    </Section>
  );
}

/** Shown to a person who may only read about the operation. */
function ForOperators({ parameters, document }: { parameters: readonly Parameter[]; document: Entry["document"] }) {
  return (
    <>
      <Notice title={t("developers.try.operators")} />
      {parameters.length > 0 && (
        <Section title={t("developers.reference.parameters")}>
          <ParameterList parameters={parameters} document={document} />
        </Section>
      )}
    </>
  );
}

/** The reader's own key. While the field is empty, the key of the demo is used, if there is one. */
export function KeyField() {
  const key = subscriptionKey.value;
  return <Field label={t("developers.key")} hint={t("developers.key_about")} value={key === config.demoKey ? "" : key} onInput={(value) => void (subscriptionKey.value = value.trim() || (config.demoKey ?? ""))} autocomplete="off" />;
}

/** The body as JSON. If it can have several forms, the reader picks one. */
function BodyField({ entry, value, onInput }: { entry: Entry; value: string; onInput: (value: string) => void }) {
  const { document, operation } = entry;
  const forms = (operation.requestBody?.content?.["application/json"]?.schema?.anyOf ?? []).map((form) => [resolve(form, document)[1], form] as const);
  const [form, setForm] = useState("");
  const choose = (name: string): void => {
    setForm(name);
    const chosen = forms.find(([one]) => one === name)?.[1];
    if (chosen) onInput(JSON.stringify(sampleOf(chosen, document), null, 2));
  };
  return (
    <>
      {forms.length > 1 && <Select label={t("developers.try.form")} value={form} options={[["", t("developers.try.example")], ...forms.map(([name]) => [name, name] as const)]} onChange={choose} />}
      <div class="field">
        <label for="try-body">{t("developers.try.body")}</label>
        <textarea id="try-body" class="code-input" rows={Math.min(14, value.split("\n").length + 1)} spellcheck={false} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
      </div>
    </>
  );
}

/** JSON on one line; other texts as they are, because the gateway says what is wrong with them. */
function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

function makeCall(entry: Entry, values: Values, body: string | null, token: string): Call {
  const { document, method, path, operation } = entry;
  const given = (operation.parameters ?? []).flatMap((parameter) => {
    const value = values[idOf(parameter)] ?? "";
    return value || parameter.in === "path" ? [{ ...parameter, value }] : [];
  });
  let address = path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const { in: place, name, schema, value } of given) {
    if (place === "path") address = address.replace(`{${name}}`, value ? encodeURIComponent(value) : `{${name}}`);
    else if (place === "header") headers[name] = value;
    else for (const one of schema.type === "array" ? value.split(",") : [value]) query.append(name, one.trim());
  }
  if (needsOf(entry).key && subscriptionKey.value) headers[KEY_HEADER] = subscriptionKey.value;
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== null) headers["Content-Type"] = "application/json";
  const server = document.servers[0]?.url ?? config.origin;
  return { method, url: `${server}${address}${query.size ? `?${query}` : ""}`, headers, body: body === null ? null : compact(body) };
}

interface ParameterProps {
  readonly parameter: Parameter;
  readonly entry: Entry;
  /** The id of the chosen home. */
  readonly home: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

const OTHER = "\u0000other";

/** A parameter: a choice if the gateway has a list for it, otherwise a field. */
function ParameterField({ parameter, entry, home, value, onInput }: ParameterProps) {
  const source = person.value && sourceFor(parameter.name, entry.path, home);
  const options = useLoad<readonly Option[]>(source?.key ?? "", async () => (source ? source.load() : []));
  const [typed, setTyped] = useState(false);
  const [schema] = resolve(parameter.schema, entry.document);
  const fitted = (options.data ?? []).map(({ id, name }) => ({ id: fitId(id, schema), name }));
  // Before the list is shown: later, the first entry could replace the choice of a fast reader.
  useLayoutEffect(() => {
    const known = fitted.some(({ id }) => id === value);
    if (parameter.required && !typed && !known && fitted[0]) onInput(fitted[0].id);
    if (!typed && value && !known && source && options.data && !fitted.length) onInput("");
  }, [options.data]);
  const label = parameter.required ? parameter.name : `${parameter.name} (${t("developers.try.optional")})`;
  const empty: readonly (readonly [string, string])[] = parameter.required ? [] : [["", "–"]];
  const fixed = schema.type === "boolean" ? [true, false] : (schema.enum ?? (schema.items?.enum || undefined));
  if (fixed) return <Select label={label} value={value} options={[["", "–"], ...fixed.map((one) => [String(one), String(one)] as const)]} onChange={onInput} hint={parameter.description} />;
  if (source && !options.data && !options.problem) return <Select label={label} value="" options={[["", t("common.loading")]]} onChange={() => undefined} hint={parameter.description} />;
  if (fitted.length && !typed) {
    const all = [...empty, ...fitted.map(({ id, name }) => [id, name] as const), [OTHER, t("developers.try.other")] as const];
    return <Select label={label} value={value} options={all} onChange={(next) => (next === OTHER ? setTyped(true) : onInput(next))} hint={parameter.description} />;
  }
  const placeholder = parameter.example === undefined ? "" : String(parameter.example);
  return <Field label={label} hint={parameter.description} value={value} onInput={onInput} placeholder={placeholder} autocomplete="off" />;
}
