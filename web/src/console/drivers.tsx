/** The health of the drivers of the gateway that answers. */

import { formatNumber, t } from "../app/i18n";
import { useList } from "../kit/load";
import { Head, Section, useRepeat, when } from "../kit/parts";
import { Table } from "../kit/table";
import type { Driver } from "./model";
import { Tag, valueWords } from "./values";

export function Drivers() {
  const list = useList<Driver>("/drivers", { limit: undefined });
  useRepeat(list.reload, 5);
  const connections = list.data?.flatMap(({ name, connections: own }) => own.map((one) => ({ ...one, driver: name })));
  return (
    <>
      <Head title={t("console.drivers.title")} about={t("console.drivers.about")} />
      <Table
        label={t("console.drivers.title")}
        list={list}
        id={({ name }) => name}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.state"), value: ({ condition }) => valueWords("condition", condition), cell: ({ condition }) => <Tag group="condition" value={condition} kind={KINDS[condition]} /> },
          { title: t("console.people.since"), value: ({ since }) => since, cell: ({ since }) => when(since) },
          { title: t("console.plants.title"), value: ({ plants }) => plants, cell: ({ plants }) => formatNumber(plants) },
          { title: t("console.drivers.restarts"), value: ({ restarts }) => restarts },
          { title: t("console.drivers.waiting"), value: ({ waitingReports }) => waitingReports },
          { title: t("console.drivers.stuck"), value: ({ leftBehind }) => leftBehind },
          { title: t("console.drivers.error"), value: ({ lastError }) => lastError, cell: ({ lastError, lastErrorAt }) => (lastError ? `${lastError} (${when(lastErrorAt)})` : "–") },
        ]}
        empty={t("console.drivers.none")}
      />
      {connections && connections.length > 0 && (
        <Section title={t("console.drivers.connections")}>
          <Table
            label={t("console.drivers.connections")}
            list={{ ...list, data: connections }}
            id={({ driver, name }) => `${driver} ${name}`}
            columns={[
              { title: t("console.name"), value: ({ name }) => name },
              { title: t("console.modules.driver"), value: ({ driver }) => driver },
              { title: t("console.address"), value: ({ address }) => address, cell: ({ address }) => <code>{address}</code> },
              { title: t("console.state"), value: ({ state }) => state, cell: ({ state }) => <Tag group="connection" value={state} kind={state === "lost" ? "alarm" : state === "connected" ? "" : "warn"} /> },
              { title: t("console.people.since"), value: ({ since }) => since, cell: ({ since }) => when(since) || "–" },
              { title: t("console.webhooks.problem"), value: ({ problem }) => problem },
            ]}
            empty=""
          />
        </Section>
      )}
    </>
  );
}

const KINDS = { running: "", starting: "warn", down: "alarm", stopped: "warn" } as const;
