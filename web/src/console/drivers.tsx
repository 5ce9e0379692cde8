/** The health of the drivers of the gateway that answers. */

import { formatNumber, t } from "../app/i18n";
import { useList } from "../kit/load";
import { Head, useRepeat, when } from "../kit/parts";
import { Table } from "../kit/table";
import type { Driver } from "./model";
import { Tag, valueWords } from "./values";

export function Drivers() {
  const list = useList<Driver>("/drivers", { limit: undefined });
  useRepeat(list.reload, 5);
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
    </>
  );
}

const KINDS = { running: "", starting: "warn", down: "alarm", stopped: "warn" } as const;
