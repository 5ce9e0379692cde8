/** Sites of emergency lighting: state, schedule of tests, logbook, spare parts, and the report. */

import { useState } from "preact/hooks";
import { api, blobOf, request } from "../app/api";
import { formatNumber, t } from "../app/i18n";
import { OWN_ZONE } from "../app/local_time";
import { saveFile } from "../app/save_file";
import { Notice } from "../parts/notice";
import { text, time, type Values } from "../kit/form";
import { MANAGE, readAll, useList } from "../kit/load";
import { Facts, FormButton, Head, Section, when } from "../kit/parts";
import { Table } from "../kit/table";
import { Show, useLoad } from "../parts/loaded";
import { dayFields, periodOf } from "./days";
import type { Plant } from "./model";
import { addressOf } from "./plants";
import type { LogbookEntry, PlannedTest, SafetySite, SafetyUnit, SpareParts } from "./safety_model";
import { Tag, valueWords } from "./values";

const BY_HAND = ["commissioning", "inspection", "service", "alteration", "note"] as const;
/** The kinds of entries in the logbook. The gateway writes the first ones. */
const ENTRIES = ["test", "failure", "repair", "silence", "contact", "alert", "alert ended", ...BY_HAND] as const;

export function Safety() {
  const sites = useLoad("sites", async () => (await readAll<Plant>("/plants")).filter(({ emergencyLighting, status }) => emergencyLighting && status === "active"));
  return (
    <>
      <Head title={t("console.safety.title")} about={t("console.safety.about")} />
      <Table
        label={t("console.safety.title")}
        list={sites}
        id={({ id }) => id}
        href={({ id }) => `/console/safety/${id}`}
        sorted
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.address"), value: addressOf },
          { title: t("console.plants.owner"), value: ({ owner }) => owner.email },
        ]}
        empty={t("console.safety.none")}
      />
    </>
  );
}

export function SafetyPage({ id }: { id: string }) {
  const loaded = useLoad(id, () => api.get<SafetySite>(`${MANAGE}/plants/${id}/safety`));
  return (
    <Show of={loaded}>
      {(site) => (
        <>
          <Head title={site.name} above={[["/console/safety", t("console.safety.title")]]}>
            <Report id={id} name={site.name} />
          </Head>
          {site.summary.units.total > 0 && <Notice kind={site.summary.complies ? "info" : "warn"} title={t(site.summary.complies ? "console.safety.complies" : "console.safety.complies_not")}>
            {site.summary.simulated > 0 && <p>{t("console.safety.simulated")}</p>}
          </Notice>}
          <Summary site={site} />
          <Units site={site} />
          <Parts id={id} />
          <Logbook id={id} site={site} />
        </>
      )}
    </Show>
  );
}

function Summary({ site: { summary } }: { site: SafetySite }) {
  const { units, controllers, functionTests, durationTests } = summary;
  const status = (counts: typeof units): string => t("console.safety.counts", { total: counts.total, working: counts.working, failing: counts.inFailure, silent: counts.noCommunication });
  return (
    <Facts
      facts={[
        [t("console.safety.units"), status(units)],
        [t("console.safety.controllers"), status(controllers)],
        [t("console.safety.function_overdue"), formatNumber(functionTests.overdue)],
        [t("console.safety.duration_overdue"), formatNumber(durationTests.overdue)],
      ]}
    />
  );
}

function Units({ site }: { site: SafetySite }) {
  const units = site.controllers.flatMap((controller) => controller.units);
  return (
    <Section title={t("console.safety.units")}>
      <Table<SafetyUnit>
        label={t("console.safety.units")}
        list={{ data: units }}
        id={({ id }) => id}
        filters={[{ name: "state", label: t("console.state"), options: ["working", "in failure", "no communication"].map((one) => [one, valueWords("safetystatus", one)] as const), holds: (unit, chosen) => unit.status === chosen }]}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.safety.place"), value: ({ place }) => place },
          {
            title: t("console.state"),
            value: ({ status, failures }) => [valueWords("safetystatus", status), ...failures.map(({ type }) => type)].join(" "),
            cell: ({ status, failures }) => (
              <span class="tags">
                <Tag group="safetystatus" value={status} kind={status === "working" ? "" : "alarm"} />
                {status !== "working" && failures.map(({ type }) => <code key={type}>{type}</code>)}
              </span>
            ),
          },
          { title: t("console.safety.function_test"), value: ({ functionTest }) => functionTest.dueAt, cell: ({ functionTest }) => <Planned test={functionTest} /> },
          { title: t("console.safety.duration_test"), value: ({ durationTest }) => durationTest.dueAt, cell: ({ durationTest }) => <Planned test={durationTest} /> },
        ]}
        empty={t("console.safety.no_units")}
      />
    </Section>
  );
}

function Planned({ test: { last, dueAt, standing } }: { test: PlannedTest }) {
  return (
    <span class="tags">
      <Tag group="teststanding" value={standing} kind={standing === "in time" ? "" : standing === "overdue" ? "alarm" : "warn"} />
      {last?.failure && <Tag group="teststanding" value="failed" kind="alarm" />}
      {dueAt && t("console.safety.due", { time: when(dueAt) })}
    </span>
  );
}

function Parts({ id }: { id: string }) {
  const parts = useLoad(`parts ${id}`, () => api.get<SpareParts>(`${MANAGE}/plants/${id}/spare-parts-order`));
  const lines = parts.data?.lines ?? null;
  return (
    <Section title={t("console.safety.parts")}>
      {parts.data?.withoutParts.length ? <Notice kind="warn" title={t("console.safety.parts_unknown", { names: parts.data.withoutParts.map(({ name }) => name).join(", ") })} /> : null}
      <Table
        label={t("console.safety.parts")}
        list={{ ...parts, data: lines }}
        id={({ reference }) => reference}
        columns={[
          { title: t("console.safety.reference"), value: ({ reference }) => reference },
          { title: t("console.safety.part"), value: ({ type }) => valueWords("part", type) },
          { title: t("console.safety.quantity"), value: ({ quantity }) => quantity },
          { title: t("console.safety.for"), value: ({ needs }) => needs.map(({ name }) => name).join(", ") },
        ]}
        empty={t("console.safety.no_parts")}
      />
    </Section>
  );
}

function Logbook({ id, site }: { id: string; site: SafetySite }) {
  const modules = site.controllers.flatMap((controller) => [controller, ...controller.units]);
  const entries = useList<LogbookEntry>(`/plants/${id}/logbook`);
  const write = async (values: Values): Promise<void> => {
    await api.post(`${MANAGE}/plants/${id}/logbook`, {
      kind: values.kind,
      by: text(values, "by"),
      words: text(values, "words"),
      moduleId: text(values, "module") || null,
      at: time(values, "at"),
    });
    await entries.reload();
  };
  return (
    <Section
      title={t("console.safety.logbook")}
      actions={
        <FormButton
          label={t("console.safety.write")}
          about={t("console.safety.write_about")}
          icon="add"
          fields={[
            { kind: "choice", name: "kind", label: t("console.modules.kind"), value: "inspection", options: BY_HAND.map((kind) => [kind, valueWords("entry", kind)] as const) },
            { kind: "choice", name: "module", label: t("console.modules.module"), value: "", options: [["", t("console.safety.whole")], ...modules.map((one) => [one.id, [one.name, one.place].filter(Boolean).join(", ")] as const)] },
            { kind: "text", name: "at", label: t("console.safety.at"), hint: t("console.safety.at_about"), type: "datetime-local" },
            { kind: "text", name: "by", label: t("console.safety.by"), required: true },
            { kind: "text", name: "words", label: t("console.safety.words"), required: true },
          ]}
          onSubmit={write}
        />
      }
    >
      <Table
        label={t("console.safety.logbook")}
        list={entries}
        id={({ number }) => String(number)}
        search
        filters={[{ name: "entry", label: t("console.modules.kind"), options: ENTRIES.map((kind) => [kind, valueWords("entry", kind)] as const), holds: (entry, chosen) => entry.kind === chosen }]}
        columns={[
          { title: t("console.orders.queued"), value: ({ at }) => at, cell: ({ at }) => when(at) },
          { title: t("console.modules.kind"), value: ({ kind }) => valueWords("entry", kind) },
          { title: t("console.modules.module"), value: ({ module }) => module },
          { title: t("console.safety.words"), value: ({ words, failure }) => [words, failure].filter(Boolean).join(" ") },
          { title: t("console.safety.by"), value: ({ by }) => by },
        ]}
        empty={t("console.safety.no_entries")}
      />
    </Section>
  );
}

const TABLES = ["units", "logbook", "order-list", "summary"] as const;

/** The report is made by the gateway. The browser shows the PDF, or stores it as a file. A table of the report is stored at once. */
function Report({ id, name }: { id: string; name: string }) {
  const [address, setAddress] = useState("");
  const ask = async (values: Values, more: Readonly<Record<string, string>>): Promise<Blob> => {
    const query = { timezone: OWN_ZONE, ...periodOf(values), ...more };
    return blobOf(await request("GET", `${MANAGE}/plants/${id}/safety/report`, { query, timeout: 60_000 }));
  };
  const make = async (values: Values): Promise<void> => {
    const report = await ask(values, { responsible: text(values, "responsible") });
    if (address) URL.revokeObjectURL(address);
    setAddress(URL.createObjectURL(report));
  };
  const makeTable = async (values: Values): Promise<void> => {
    const table = text(values, "table");
    saveFile(`${name}-${table}.csv`, await ask(values, { table }));
  };
  return (
    <>
      <FormButton
        label={t("console.safety.report")}
        look="primary"
        fields={[...dayFields(t("console.safety.since_about")), { kind: "text", name: "responsible", label: t("console.safety.responsible"), hint: t("console.safety.responsible_about") }]}
        onSubmit={make}
      />
      <FormButton
        label={t("console.safety.csv")}
        about={t("console.safety.csv_about")}
        fields={[{ kind: "choice", name: "table", label: t("console.safety.table"), value: TABLES[0], options: TABLES.map((one) => [one, valueWords("reporttable", one)] as const) }, ...dayFields(t("console.safety.since_about"))]}
        onSubmit={makeTable}
      />
      {address && (
        <>
          <a class="button" href={address} target="_blank" rel="noopener">
            {t("console.safety.open")}
          </a>
          <a class="button" href={address} download={`${name}.pdf`}>
            {t("console.safety.download")}
          </a>
        </>
      )}
    </>
  );
}
