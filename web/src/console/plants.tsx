/** All plants, including the removed ones. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { OWN_ZONE } from "../app/local_time";
import { go } from "../app/router";
import { text, type FormField, type Values } from "../kit/form";
import { MANAGE, useList } from "../kit/load";
import { FormButton, Head } from "../kit/parts";
import { Table } from "../kit/table";
import type { Plant } from "./model";
import { Tag, valueWords } from "./values";

const TYPES = ["house", "hotel", "office", "hospital"] as const;
const STATES = ["active", "removed"] as const;

export function Plants() {
  const list = useList<Plant>("/plants");
  const create = async (values: Values): Promise<void> => {
    const { id } = await api.post<Plant>(`${MANAGE}/plants`, plantBody(values));
    go(`/console/plants/${id}/rooms`);
  };
  return (
    <>
      <Head title={t("console.plants.title")} about={t("console.plants.about")}>
        <FormButton label={t("console.plants.add")} icon="add" look="primary" fields={plantFields()} onSubmit={create} />
      </Head>
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

/** The fields of a new plant, or of a plant that is changed. */
export function plantFields(plant?: Plant): readonly FormField[] {
  return [
    { kind: "text", name: "name", label: t("console.name"), required: true, value: plant?.name ?? "" },
    { kind: "choice", name: "type", label: t("console.plants.type"), value: plant?.type ?? "house", options: TYPES.map((type) => [type, valueWords("planttype", type)] as const) },
    { kind: "text", name: "owner", label: t("console.plants.owner"), hint: t("console.plants.owner_about"), type: "email", required: true, value: plant?.owner.email ?? "" },
    { kind: "text", name: "address", label: t("console.address"), value: plant?.address ?? "" },
    { kind: "text", name: "zipCode", label: t("console.plants.zip"), value: plant?.zipCode ?? "" },
    { kind: "text", name: "country", label: t("console.plants.country"), value: plant?.country ?? "" },
    { kind: "text", name: "timeZone", label: t("console.plants.zone"), hint: t("console.plants.zone_about"), value: plant ? (plant.timeZone ?? "") : OWN_ZONE },
  ];
}

export function plantBody(values: Values): object {
  const optional = ["address", "zipCode", "country", "timeZone"].map((name) => [name, text(values, name) || null] as const);
  return { name: text(values, "name"), type: values.type, owner: text(values, "owner"), ...Object.fromEntries(optional) };
}

export function addressOf({ address, zipCode, country }: Plant): string {
  return [address, zipCode, country].filter(Boolean).join(", ");
}
