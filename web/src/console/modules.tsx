/** Modules: of one plant, or of all plants with filters that the API applies. */

import { t } from "../app/i18n";
import { query } from "../app/router";
import { useList } from "../kit/load";
import { Head, Section, useRepeat } from "../kit/parts";
import type { Filter } from "../kit/filters";
import { Table, type Column } from "../kit/table";
import { ABSENCES, KINDS, type Module } from "./model";
import { stateText } from "./state";
import { Tag, evidenceWords, valueWords } from "./values";

interface ModuleInPlant extends Module {
  readonly plantId: string;
  readonly plant: string;
}

export const REFRESH = 10;
/** The number of values of a state that a list shows. */
export const SHOWN_VALUES = 3;

/** `more` stands before the last column. */
function columns<T extends Module>(more: Column<T>): readonly Column<T>[] {
  return [
    { title: t("console.name"), value: ({ name }) => name },
    { title: t("console.modules.kind"), value: ({ kind }) => valueWords("kind", kind) },
    { title: t("console.modules.ambient"), value: ({ ambient }) => ambient },
    more,
    { title: t("console.modules.reachable"), value: reachText, cell: (module) => <Reach module={module} /> },
  ];
}

/** Filters by kind and by whether the module can be reached. */
export function moduleFilters(): readonly Filter<Module>[] {
  return [kindFilter(), reachFilter()];
}

/** The texts of a module that a search looks at. */
export function moduleTexts(module: Module): readonly (string | null)[] {
  return [module.name, valueWords("kind", module.kind), module.ambient, stateText(module.state, SHOWN_VALUES), reachText(module)];
}

function kindFilter(): Filter<Module> {
  return { name: "kind", label: t("console.modules.kind"), options: KINDS.map((kind) => [kind, valueWords("kind", kind)] as const), holds: (module, chosen) => module.kind === chosen };
}

function reachFilter(): Filter<Module> {
  const options = (["online", "offline"] as const).map((one) => [one, valueWords("reach", one)] as const);
  return { name: "reachable", label: t("console.modules.reachable"), options, holds: (module, chosen) => module.reachable === (chosen === "online") };
}

export function ModulesOfPlant({ plant }: { plant: string }) {
  const list = useList<Module>(`/plants/${plant}/modules`);
  useRepeat(list.reload, REFRESH);
  return (
    <Section title={t("console.modules.title")}>
      <Table
        label={t("console.modules.title")}
        list={list}
        id={({ id }) => id}
        href={({ id }) => `/console/plants/${plant}/modules/${id}`}
        search
        sorted
        filters={moduleFilters()}
        columns={columns<Module>({ title: t("console.state"), value: ({ state }) => stateText(state, SHOWN_VALUES) })}
        empty={t("console.modules.none")}
      />
    </Section>
  );
}

export function Modules() {
  const [text, kind, reachable, reason] = ["text", "kind", "reachable", "reason"].map((name) => query.value.get(name) || undefined);
  const list = useList<ModuleInPlant>("/modules", { text, kind, reachable: reachable && reachable === "online", reason });
  useRepeat(list.reload, REFRESH);
  return (
    <>
      <Head title={t("console.modules.title")} about={t("console.modules.all_about")} />
      <Table
        label={t("console.modules.title")}
        list={list}
        id={({ id }) => id}
        href={({ id, plantId }) => `/console/plants/${plantId}/modules/${id}`}
        search="text"
        filters={[...moduleFilters(), { name: "reason", label: t("console.modules.reason"), options: ABSENCES.map((one) => [one, valueWords("absence_short", one)] as const) }]}
        columns={columns<ModuleInPlant>({ title: t("console.plants.one"), value: ({ plant }) => plant, cell: ({ plant, plantId }) => <a href={`/console/plants/${plantId}`}>{plant}</a> })}
        empty={t("common.nothing_found")}
      />
    </>
  );
}

function reachText({ reachable, absence }: Module): string {
  return reachable ? valueWords("reach", "online") : [valueWords("reach", "offline"), absence && valueWords("absence", absence.why), absence && evidenceWords(absence)].join(" ");
}

export function Reach({ module: { reachable, absence } }: { module: Module }) {
  return (
    <span class="tags">
      <Tag group="reach" value={reachable ? "online" : "offline"} kind={reachable ? "" : "alarm"} />
      {absence && `${valueWords("absence", absence.why)} ${evidenceWords(absence)}`}
    </span>
  );
}
