/** The settings of the gateway that answers, and where each came from. Secrets are not shown. */

import { loadTexts, t, type TextLoaders } from "../app/i18n";
import { useList, type LoadedList } from "../kit/load";
import { Head } from "../kit/parts";
import { Table } from "../kit/table";
import { Show, useLoad } from "../parts/loaded";
import { answeredBy } from "./gateways";
import type { Setting } from "./model";
import { Tag, valueWords } from "./values";

/** The descriptions of the settings. The English descriptions come from the API. */
const SETTING_TEXTS: TextLoaders = {
  en: async () => ({ default: {} }),
  de: () => import("./setting_texts/de.toml"),
  fr: () => import("./setting_texts/fr.toml"),
  it: () => import("./setting_texts/it.toml"),
};

const SOURCES = ["default", "file", "environment", "command line", "gateway"] as const;

export function SettingsPage() {
  const texts = useLoad("setting texts", () => loadTexts(SETTING_TEXTS).then(() => true));
  const list = useList<Setting>("/settings", { limit: undefined });
  return (
    <>
      <Head title={t("console.settings.title")} about={[t("console.settings.about"), answeredBy(list.gateway)].filter(Boolean).join(" ")} />
      <Show of={texts}>{() => <Settings list={list} />}</Show>
    </>
  );
}

function helpWords({ name, help }: Setting): string {
  return valueWords("setting", name, help);
}

function Settings({ list }: { list: LoadedList<Setting> }) {
  return (
    <Table
      label={t("console.settings.title")}
      list={list}
      id={({ name }) => name}
      search
      filters={[{ name: "source", label: t("console.settings.source"), options: SOURCES.map((one) => [one, valueWords("source", one)] as const), holds: ({ source }, chosen) => source === chosen }]}
      columns={[
        { title: t("console.name"), value: (setting) => `${setting.name} ${helpWords(setting)}`, cell: (setting) => <Named setting={setting} /> },
        { title: t("console.settings.value"), value: (setting) => (setting.secret ? secretWords(setting) : setting.value), cell: (setting) => <Value of={setting} /> },
        { title: t("console.settings.source"), value: ({ source, place }) => `${valueWords("source", source)} ${place}`, cell: ({ source, place }) => <Source source={source} place={place} /> },
      ]}
      empty={t("common.nothing_found")}
    />
  );
}

function Named({ setting }: { setting: Setting }) {
  return (
    <>
      <code>{setting.name}</code>
      <span class="soft detail">{helpWords(setting)}</span>
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
