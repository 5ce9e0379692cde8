/** The audit log: who did what, when, and with which result. The oldest entry is first, as it is written. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import { Notice } from "../parts/notice";
import { text, type Values } from "../kit/form";
import { MANAGE, useList, type Listing } from "../kit/load";
import { FormButton, Head, when } from "../kit/parts";
import { Table } from "../kit/table";
import type { AuditRecord, User } from "./model";
import { Tag, valueWords } from "./values";

interface Wanted {
  readonly action?: string;
  readonly userId?: string;
  /** The e-mail address of the person, as it was typed. */
  readonly email?: string;
}

export function Audit() {
  const [wanted, setWanted] = useState<Wanted>({});
  const [unknown, setUnknown] = useState("");
  const list = useList<AuditRecord>("/audit", { action: wanted.action, userId: wanted.userId });
  const search = async (values: Values): Promise<void> => {
    const action = text(values, "action");
    const email = text(values, "email");
    const user = email ? (await api.get<Listing<User>>(`${MANAGE}/users`, { query: { email } })).items[0] : undefined;
    setUnknown(email && !user ? email : "");
    if (email && !user) return;
    setWanted({ ...(action ? { action } : {}), ...(user ? { userId: user.id, email } : {}) });
  };
  return (
    <>
      <Head title={t("console.audit.title")} about={t("console.audit.about")}>
        <FormButton
          label={t("console.audit.search")}
          icon="search"
          look="primary"
          fields={[
            { kind: "text", name: "email", label: t("console.email"), hint: t("console.audit.email_about"), type: "email", value: wanted.email ?? "" },
            { kind: "text", name: "action", label: t("console.audit.action"), hint: t("console.audit.action_about"), value: wanted.action ?? "" },
          ]}
          onSubmit={search}
        />
      </Head>
      {unknown && <Notice kind="warn" title={t("console.audit.no_person", { email: unknown })} />}
      {(wanted.action || wanted.email) && <p class="soft">{t("console.audit.only", { what: [wanted.email, wanted.action].filter(Boolean).join(", ") })}</p>}
      <Table
        label={t("console.audit.title")}
        list={list}
        id={({ number }) => String(number)}
        search
        columns={[
          { title: t("console.audit.number"), value: ({ number }) => number },
          { title: t("console.orders.queued"), value: ({ at }) => at, cell: ({ at }) => when(at) },
          { title: t("console.audit.action"), value: ({ action }) => action },
          { title: t("console.audit.who"), value: ({ who }) => who, cell: ({ who }) => <code class="who">{who || "–"}</code> },
          { title: t("console.audit.what"), value: ({ what, detail }) => [what, ...Object.entries(detail).map(([name, value]) => `${name}: ${value}`)].join(" · "), cell: (record) => <What record={record} /> },
          { title: t("console.audit.result"), value: ({ result }) => valueWords("result", result), cell: ({ result }) => <Tag group="result" value={result} kind={result === "ok" ? "" : "warn"} /> },
          { title: t("console.address"), value: ({ address }) => address },
        ]}
        empty={t("console.audit.none")}
      />
    </>
  );
}

function What({ record: { what, detail } }: { record: AuditRecord }) {
  return (
    <>
      <code>{what}</code>
      {Object.entries(detail).map(([name, value]) => (
        <span key={name} class="soft detail">
          {name}: {value}
        </span>
      ))}
    </>
  );
}
