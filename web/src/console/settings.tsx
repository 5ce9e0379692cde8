/** The settings in force, and where each came from. Secrets are not shown. */

import { language, t } from "../app/i18n";
import { useList } from "../kit/load";
import { Head } from "../kit/parts";
import { Table } from "../kit/table";
import type { Setting } from "./model";
import { Tag, valueWords } from "./values";

const SOURCES = ["default", "file", "environment", "command line", "gateway"] as const;

export function SettingsPage() {
  const list = useList<Setting>("/settings", { limit: undefined });
  return (
    <>
      <Head title={t("console.settings.title")} about={language.value === "en" ? t("console.settings.about") : `${t("console.settings.about")} ${t("console.settings.english")}`} />
      <Table
        label={t("console.settings.title")}
        list={list}
        id={({ name }) => name}
        search
        filters={[{ name: "source", label: t("console.settings.source"), options: SOURCES.map((one) => [one, valueWords("source", one)] as const), holds: ({ source }, chosen) => source === chosen }]}
        columns={[
          { title: t("console.name"), value: ({ name, help }) => `${name} ${help}`, cell: ({ name, help }) => <Named name={name} help={help} /> },
          { title: t("console.settings.value"), value: (setting) => (setting.secret ? secretWords(setting) : setting.value), cell: (setting) => <Value of={setting} /> },
          { title: t("console.settings.source"), value: ({ source, place }) => `${valueWords("source", source)} ${place}`, cell: ({ source, place }) => <Source source={source} place={place} /> },
        ]}
        empty={t("common.nothing_found")}
      />
    </>
  );
}

function Named({ name, help }: { name: string; help: string }) {
  return (
    <>
      <code>{name}</code>
      <span class="soft detail">{help}</span>
    </>
  );
}

function secretWords({ source }: Setting): string {
  return t(source === "default" ? "console.settings.not_set" : "console.settings.secret");
}

function Value({ of: setting }: { of: Setting }) {
  const { value, secret, default: usual, source } = setting;
  if (secret) return <>{secretWords(setting)}</>;
  return (
    <>
      <code>{value || "–"}</code>
      {source !== "default" && <span class="soft detail">{t("console.settings.default", { value: usual || "–" })}</span>}
    </>
  );
}

function Source({ source, place }: { source: string; place: string }) {
  return (
    <span class="tags">
      <Tag group="source" value={source} kind={source === "default" ? "" : "warn"} />
      {place && <code>{place}</code>}
    </span>
  );
}
