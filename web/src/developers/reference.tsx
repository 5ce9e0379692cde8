/** The reference: all APIs of the gateway, and the operations of one of them. */

import type { ComponentChild, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, t } from "../app/i18n";
import { Head, Section } from "../kit/parts";
import { Field } from "../parts/field";
import { List, Row } from "../parts/list";
import { Show, useLoad } from "../parts/loaded";
import { listEntries, readAll, readDocument, readIndex, titleOf, type ApiDocument, type Entry } from "./openapi";
import { Prose } from "./prose";
import { matches } from "./synonyms";

export const REFERENCE = "/developers/reference";
const MOST_FOUND = 50;

export function Reference() {
  const all = useLoad("reference", readAll);
  const [words, setWords] = useState("");
  return (
    <>
      <Head title={t("developers.reference.title")} about={t("developers.reference.about")} />
      <Show of={all}>
        {(apis) => (
          <>
            <Field label={t("developers.reference.search")} type="search" value={words} onInput={setWords} placeholder="light" />
            {words.trim() ? <Found apis={apis} words={words} /> : <Apis apis={apis} />}
          </>
        )}
      </Show>
    </>
  );
}

type All = readonly (readonly [string, ApiDocument])[];

function Apis({ apis }: { apis: All }) {
  return (
    <List label={t("developers.reference.title")}>
      {apis.map(([api, document]) => (
        <Row key={api} href={`${REFERENCE}/${api}`} title={<ApiTitle document={document} />} about={aboutApi(document)} />
      ))}
    </List>
  );
}

function ApiTitle({ document }: { document: ApiDocument }) {
  const deprecated = listEntries("", document).every(({ operation }) => operation.deprecated);
  return (
    <>
      {titleOf(document)} {deprecated && <span class="tag warn">{t("developers.reference.deprecated")}</span>}
    </>
  );
}

/** A family is described best by its few operations, another API by the first sentence of its description. */
function aboutApi(document: ApiDocument): string {
  const entries = listEntries("", document);
  if (entries.some(({ operation }) => operation["x-operation"])) return entries.map(({ operation }) => operation.summary).join(" · ");
  return `${document.info.description?.split(". ")[0] ?? ""}. ${count("developers.reference.operations", entries.length)}.`;
}

function Found({ apis, words }: { apis: All; words: string }) {
  const found = apis
    .flatMap(([api, document]) => listEntries(api, document))
    .filter(({ method, path, operation }) => matches(`${method} ${path} ${operation.summary} ${operation.operationId} ${operation["x-operation"] ?? ""}`, words));
  return (
    <>
      <p class="soft" role="status">
        {found.length ? count("developers.reference.operations", found.length) : t("common.nothing_found")}
      </p>
      <Entries entries={found.slice(0, MOST_FOUND)} />
    </>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }) {
  if (!entries.length) return null;
  return (
    <List>
      {entries.map((entry) => (
        <Row key={`${entry.api} ${entry.operation.operationId}`} href={`${REFERENCE}/${entry.api}/${entry.operation.operationId}`} title={<Title entry={entry} />} about={<Address entry={entry} />} />
      ))}
    </List>
  );
}

function Title({ entry: { operation } }: { entry: Entry }) {
  return (
    <>
      {operation.summary} {operation["x-operation"] && <span class="tag">{operation["x-operation"]}</span>} {operation.deprecated && <span class="tag warn">{t("developers.reference.deprecated")}</span>}
    </>
  );
}

/** Method and path. */
export function Address({ entry: { method, path, sent } }: { entry: Entry }) {
  return (
    <span class="address">
      <b class={`method ${method.toLowerCase()}`}>{method}</b> <code>{sent ? t("developers.reference.your_url") : breakable(path)}</code>
    </span>
  );
}

/** A path that a narrow window breaks after a slash. */
function breakable(path: string): ComponentChild[] {
  return path.split(/(?<=\/)/).flatMap((part) => [part, <wbr key={part} />]);
}

export function Api({ api }: { api: string }) {
  const loaded = useLoad(api, async () => [await readDocument(api), (await readIndex())[api] ?? ""] as const);
  return <Show of={loaded}>{([document, address]) => <ApiView api={api} document={document} address={address} />}</Show>;
}

function ApiView({ api, document, address }: { api: string; document: ApiDocument; address: string }) {
  const groups = new Map<string, Entry[]>();
  for (const entry of listEntries(api, document)) {
    const tag = entry.operation.tags?.[0] ?? "";
    groups.set(tag, [...(groups.get(tag) ?? []), entry]);
  }
  return (
    <>
      <Head title={titleOf(document)} above={[[REFERENCE, t("developers.reference.title")]]} about={document.info.description && <Prose text={document.info.description} />}>
        <a class="button" href={address} target="_blank">
          {t("developers.reference.document")}
        </a>
      </Head>
      {[...groups].map(([tag, entries]) => (
        <Group key={tag} title={groups.size > 1 && tag}>
          <Entries entries={entries} />
        </Group>
      ))}
    </>
  );
}

function Group({ title, children }: { title: string | false; children: ComponentChildren }) {
  return title ? <Section title={title.charAt(0).toUpperCase() + title.slice(1)}>{children}</Section> : <>{children}</>;
}
