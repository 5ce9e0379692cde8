/** The audit log: search by person, action and time, verify the chain of hashes, and export. The newest entry is first. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { count, t } from "../app/i18n";
import { toLocal } from "../app/local_time";
import { query, setQuery } from "../app/router";
import { Download } from "../kit/download";
import { Fold } from "../kit/fold";
import { text, time, type Values } from "../kit/form";
import { MANAGE, useList } from "../kit/load";
import { FormButton, Head, when } from "../kit/parts";
import { Table } from "../kit/table";
import { Notice } from "../parts/notice";
import { DAYS, periodOfDay } from "./days";
import { AUDIT_ACTIONS, LOGINS, type AuditName, type AuditRecord, type Verification } from "./model";
import { Tag, valueWords } from "./values";

const LONGEST = 600_000;
const UUID = /^[0-9a-f]{8}-/;

export function Audit() {
  const day = query.value.get("day") ?? "";
  // A chosen day replaces the period of the search.
  const names = day ? ["email", "action", "successful"] : ["email", "action", "successful", "since", "until"];
  const wanted = Object.fromEntries(names.map((name) => [name, query.value.get(name) ?? ""]));
  const list = useList<AuditRecord>("/audit", { order: "newest", people: true, names: true, ...Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, value || undefined])), ...periodOfDay(day) });
  const [verified, setVerified] = useState<Verification | null>(null);
  const search = async (values: Values): Promise<void> => {
    for (const name of ["email", "action", "successful"]) setQuery(name, text(values, name));
    for (const name of ["since", "until"]) setQuery(name, time(values, name) ?? "");
    setQuery("day", "");
  };
  const verify = async (values: Values): Promise<void> => {
    setVerified(await api.post<Verification>(`${MANAGE}/audit/verification`, { lastHash: text(values, "lastHash") || null }, { timeout: LONGEST }));
  };
  const actions = [LOGINS, ...AUDIT_ACTIONS].map((one) => [one, listWords("action", one)] as const);
  const results = [["true", valueWords("result", "ok")], ["false", t("console.audit.refused")]] as const;
  const chosen = [wanted.email, wanted.action && listWords("action", wanted.action), results.find(([value]) => value === wanted.successful)?.[1], wanted.since && `${t("console.plants.from")} ${when(wanted.since)}`, wanted.until && `${t("console.plants.until")} ${when(wanted.until)}`].filter(Boolean);
  return (
    <>
      <Head title={t("console.audit.title")} about={t("console.audit.about")}>
        <FormButton
          label={t("console.audit.search")}
          icon="search"
          look="primary"
          fields={[
            { kind: "text", name: "email", label: t("console.email"), hint: t("console.audit.email_about"), type: "email", value: wanted.email ?? "" },
            { kind: "choice", name: "action", label: t("console.audit.action"), value: wanted.action ?? "", options: [["", t("common.all")], ...actions] },
            { kind: "choice", name: "successful", label: t("console.audit.result"), value: wanted.successful ?? "", options: [["", t("common.all")], ...results] },
            { kind: "text", name: "since", label: t("console.plants.from"), type: "datetime-local", value: toLocal(wanted.since) },
            { kind: "text", name: "until", label: t("console.plants.until"), type: "datetime-local", value: toLocal(wanted.until) },
          ]}
          onSubmit={search}
        />
        <FormButton
          label={t("console.audit.verify")}
          about={t("console.audit.verify_about")}
          fields={[{ kind: "text", name: "lastHash", label: t("console.audit.last_hash"), hint: t("console.audit.last_hash_about") }]}
          onSubmit={verify}
        />
        <Download label={t("console.audit.export")} path={`${MANAGE}/audit/export`} name="audit.jsonl" />
      </Head>
      {verified && <Verified of={verified} />}
      {chosen.length > 0 && <p class="soft">{t("console.audit.only", { what: chosen.join(", ") })}</p>}
      <Table
        label={t("console.audit.title")}
        list={list}
        id={({ number }) => String(number)}
        search
        filters={[
          { name: "action", label: t("console.audit.action"), options: actions },
          { name: "day", label: t("console.days.title"), options: DAYS.map((one) => [one, valueWords("days", one)] as const) },
        ]}
        columns={[
          { title: t("console.audit.number"), value: ({ number }) => number },
          { title: t("console.orders.queued"), value: ({ at }) => at, cell: ({ at }) => when(at) },
          { title: t("console.audit.action"), value: ({ action }) => listWords("action", action) },
          { title: t("console.audit.who"), value: (record) => wordsOf(record, record.who), cell: (record) => <Who record={record} /> },
          { title: t("console.audit.what"), value: (record) => textsOf(record).map((text) => wordsOf(record, text)).join(" · "), cell: (record) => <What record={record} /> },
          { title: t("console.audit.result"), value: ({ result }) => valueWords("result", result), cell: ({ result }) => <Tag group="result" value={result} kind={result === "ok" ? "" : "warn"} /> },
          { title: t("console.address"), value: ({ address }) => address },
        ]}
        empty={t("console.audit.none")}
      />
    </>
  );
}

function Verified({ of: { records, lastHash, broken } }: { of: Verification }) {
  return (
    <Notice kind={broken ? "alarm" : "info"} title={broken ? t("console.audit.broken", { number: broken.number }) : count("console.audit.unchanged", records)}>
      {broken && <p>{broken.problem}</p>}
      <p>
        {t("console.audit.last_hash")}: <code>{lastHash}</code>
      </p>
    </Notice>
  );
}

/** A part of a text of an entry: words, or a thing with its name and its page. */
interface Part {
  readonly words: string;
  readonly id?: string;
  readonly page?: string;
}

function pageOf({ id, kind, plantId }: AuditName): string {
  switch (kind) {
    case "plant":
      return `/console/plants/${id}`;
    case "module":
      return `/console/plants/${plantId}/modules/${id}`;
    case "client":
      return `/console/applications/${encodeURIComponent(id)}`;
    case "subscription":
      return "/console/keys";
  }
}

/** The log has ids and pseudonyms. The API names the things and people that still exist. */
function partsOf({ people, names }: AuditRecord, text: string): readonly Part[] {
  const known = new Map<string, Part>([
    ...people.map(({ pseudonym, userId, email }) => [`user:${pseudonym}`, { words: email, id: pseudonym, page: `/console/people/${userId}` }] as const),
    ...names.map((named) => [named.kind === "client" && !UUID.test(named.id) ? `client:${named.id}` : named.id, { words: named.name, id: named.id, page: pageOf(named) }] as const),
  ]);
  const parts: Part[] = [];
  let words = "";
  // A client id may contain every character except spaces, so only a whole word is compared with it.
  for (const piece of text.split(/(\s+|[a-z]+:(?=[0-9a-f]{8}-))/)) {
    const found = known.get(piece);
    if (found) {
      if (words) parts.push({ words });
      parts.push(found);
      words = "";
    } else words += piece;
  }
  return words ? [...parts, { words }] : parts;
}

function wordsOf(record: AuditRecord, text: string): string {
  return partsOf(record, text).map(({ words }) => words).join("");
}

function textsOf({ action, what, detail }: AuditRecord): readonly string[] {
  return [action === "login" ? listWords("factor", what) : what, ...Object.entries(detail).map(([name, value]) => (name === "client" ? `client:${value}` : `${valueWords("detail", name)}: ${detailText(value)}`))];
}

function detailText(value: string): string {
  return value === "yes" || value === "no" ? t(`console.${value}`) : value;
}

/** The words for a value of the API, or for several values with commas between them. */
function listWords(group: string, values: string): string {
  return values
    .split(", ")
    .map((value) => valueWords(group, value))
    .join(", ");
}

/** A text of an entry with links. The id is shown when the pointer is on the link. */
function Linked({ record, text }: { record: AuditRecord; text: string }) {
  return (
    <>
      {partsOf(record, text).map(({ words, id, page }, index) =>
        page ? (
          <a key={index} href={page} title={id}>
            {words}
          </a>
        ) : (
          <code key={index}>
            <Fold words={words} />
          </code>
        ),
      )}
    </>
  );
}

function Who({ record }: { record: AuditRecord }) {
  return <span class="who">{record.who ? <Linked record={record} text={record.who} /> : "–"}</span>;
}

function What({ record }: { record: AuditRecord }) {
  const [what = "", ...details] = textsOf(record);
  return (
    <>
      <Linked record={record} text={what} />
      {details.map((words) => (
        <span key={words} class="soft detail">
          <Linked record={record} text={words} />
        </span>
      ))}
    </>
  );
}
