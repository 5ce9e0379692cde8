/** All plants, including the removed ones. */

import { t } from "../app/i18n";
import { useList } from "../kit/load";
import { Head } from "../kit/parts";
import { Table } from "../kit/table";
import type { Plant } from "./model";
import { Tag, valueWords } from "./values";

const STATES = ["active", "removed"] as const;

export function Plants() {
  const list = useList<Plant>("/plants");
  return (
    <>
      <Head title={t("console.plants.title")} about={t("console.plants.about")} />
      <Table
        label={t("console.plants.title")}
        list={list}
        id={({ id }) => id}
        href={({ id }) => `/console/plants/${id}`}
        search
        sorted
        filters={[{ name: "state", label: t("console.state"), options: STATES.map((one) => [one, valueWords("plantstate", one)] as const), holds: (plant, chosen) => plant.status === chosen }]}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.plants.type"), value: ({ type }) => valueWords("planttype", type) },
          { title: t("console.plants.owner"), value: ({ owner }) => owner.email },
          { title: t("console.address"), value: addressOf },
          { title: t("console.state"), value: ({ status }) => valueWords("plantstate", status), cell: ({ status }) => <Tag group="plantstate" value={status} kind={status === "active" ? "" : "warn"} /> },
        ]}
        empty={t("console.plants.none")}
      />
    </>
  );
}

export function addressOf({ address, zipCode, country }: Plant): string {
  return [address, zipCode, country].filter(Boolean).join(", ");
}
