/** One module: its state and why it is absent, commands and their life, readings, faults. */

import { useMemo } from "preact/hooks";
import { api } from "../app/api";
import { printCsv } from "../app/csv";
import { formatAgo, t } from "../app/i18n";
import { saveFile } from "../app/save_file";
import { readingWords, unitSymbol } from "../app/units";
import { LazyChart } from "../parts/lazy_chart";
import { Notice } from "../parts/notice";
import { Command } from "./command";
import { dayFields, periodOf } from "./days";
import { Faults } from "./faults";
import { text, type Values } from "../kit/form";
import { MANAGE, readList } from "../kit/load";
import { Facts, FormButton, Head, Section, useRepeat, when } from "../kit/parts";
import { Show, useLoad } from "../parts/loaded";
import type { Measurement, Module, Plant } from "./model";
import { ModuleChange } from "./module_change";
import { OrderTable, useOrders } from "./orders";
import { Reach } from "./modules";
import { stateFacts, valueName } from "./state";
import { UndoNotice, useUndo } from "./undo";
import { evidenceWords, valueWords } from "./values";

const REFRESH = 5;
/** With fewer values a curve says nothing. */
const CURVE_FROM = 3;

export function ModulePage({ plant, id }: { plant: string; id: string }) {
  const home = useLoad(plant, () => api.get<Plant>(`${MANAGE}/plants/${plant}`));
  const loaded = useLoad(`${plant} ${id}`, () => api.get<Module>(`${MANAGE}/plants/${plant}/modules/${id}`));
  const orders = useOrders(plant, id);
  const undo = useUndo(loaded.reload);
  useRepeat(loaded.reload, REFRESH);
  return (
    <Show of={loaded}>
      {(module) => (
        <>
          <Head
            title={module.name}
            above={[
              ["/console/plants", t("console.plants.title")],
              [`/console/plants/${plant}`, home.data?.name ?? "…"],
            ]}
            about={<Reach module={{ ...module, absence: null }} />}
          >
            {home.data?.status === "active" && <Command plant={plant} module={module} onEnded={() => Promise.all([loaded.reload(), orders.reload()])} />}
            <ModuleChange plant={plant} module={module} undo={undo} />
          </Head>
          <UndoNotice of={undo} />
          {module.absence && (
            <Notice kind="warn" title={`${valueWords("absence", module.absence.why)} ${t("console.modules.since", { time: when(module.absence.since), ago: formatAgo(new Date(module.absence.since)) })}`}>
              {module.absence.evidence && (
                <p>
                  {t("console.modules.evidence")} <code>{evidenceWords(module.absence)}</code>
                </p>
              )}
            </Notice>
          )}
          <Facts
            facts={[
              ...stateFacts(module.state),
              [t("console.modules.reported"), when(module.reportedAt) || t("console.modules.never_reported")],
              [t("console.modules.kind"), valueWords("kind", module.kind)],
              [t("console.modules.ambient"), module.ambient],
              [t("console.modules.driver"), module.simulated ? `${module.driver} (${t("console.modules.simulated")})` : module.driver],
              ["ID", <code>{module.id}</code>],
            ]}
          />
          <Readings plant={plant} id={id} name={module.name} />
          <Section title={t("console.orders.title")} about={t("console.orders.about")}>
            <OrderTable list={orders} empty={t("console.orders.none")} />
          </Section>
          <Faults plant={plant} module={id} />
        </>
      )}
    </Show>
  );
}

function Readings({ plant, id, name }: { plant: string; id: string; name: string }) {
  const loaded = useLoad(`readings ${plant} ${id}`, async () => (await readList<Measurement>(`/plants/${plant}/modules/${id}/readings`, { resolution: "15m", limit: 1000 })).items);
  const measures = useMemo(() => [...new Set(loaded.data?.map(({ measure }) => measure))], [loaded.data]);
  if (loaded.data && !measures.length) return null;
  return (
    <Section title={t("console.readings.title")} about={t("console.readings.about")} actions={<Save plant={plant} id={id} name={name} />}>
      <Show of={loaded}>
        {(found) => measures.map((measure) => <Curve key={measure} measure={measure} all={found} />)}
      </Show>
    </Section>
  );
}

const RESOLUTIONS = ["15m", "1h", "1d", "each"] as const;

/** A button that stores the readings of a period as CSV. */
function Save({ plant, id, name }: { plant: string; id: string; name: string }) {
  const save = async (values: Values): Promise<void> => {
    const resolution = text(values, "resolution");
    const isSummary = resolution !== "each";
    const columns = ["at", "measure", "unit", ...(isSummary ? ["count", "mean", "low", "high", "last"] : ["value"])];
    const { items } = await readList<Readonly<Record<string, string | number>>>(`/plants/${plant}/modules/${id}/readings`, { ...periodOf(values), limit: 5000, resolution: isSummary ? resolution : undefined }, { most: () => Infinity });
    saveFile(`${name}.csv`, printCsv([columns, ...items.map((one) => columns.map((column) => one[column] ?? null))]));
  };
  return (
    <FormButton
      label={t("console.readings.csv")}
      fields={[...dayFields(t("console.readings.since_about")), { kind: "choice", name: "resolution", label: t("console.readings.resolution"), value: RESOLUTIONS[0], options: RESOLUTIONS.map((one) => [one, valueWords("resolution", one)] as const) }]}
      onSubmit={save}
    />
  );
}

function Curve({ measure, all }: { measure: string; all: readonly Measurement[] }) {
  const found = useMemo(() => all.filter((one) => one.measure === measure), [all, measure]);
  const times = useMemo(() => found.map(({ at }) => new Date(at)), [found]);
  const lines = useMemo(() => [{ label: valueName(measure), token: "accent" as const, values: found.map(({ mean }) => mean) }], [found, measure]);
  const [first] = found;
  if (first && found.length < CURVE_FROM) return <Facts facts={[[valueName(measure), `${readingWords({ value: first.mean, unit: first.unit })} (${when(first.at)})`]]} />;
  const unit = unitSymbol(first?.unit ?? "");
  return (
    <>
      <p class="chart-title">{`${valueName(measure)} (${unit})`}</p>
      <LazyChart label={valueName(measure)} unit={unit} times={times} lines={lines} zoom />
    </>
  );
}
