/** Tables of grants: the access that people gave to applications. */

import { t } from "../app/i18n";
import { Fold } from "../kit/fold";
import { readAll } from "../kit/load";
import { when } from "../kit/parts";
import type { Column } from "../kit/table";
import { useLoad } from "../parts/loaded";
import type { Client, GrantFacts } from "./model";

/** The names of the registered applications by their id. */
export function useClientNames(): ReadonlyMap<string, string> {
  const clients = useLoad("clients", () => readAll<Client>("/clients")).data ?? [];
  return new Map(clients.map(({ id, name }) => [id, name]));
}

/** `first` says who gave the grant, or to which application. */
export function grantColumns<T extends GrantFacts>(first: Column<T>): readonly Column<T>[] {
  return [
    first,
    { title: t("console.scopes"), value: ({ scopes }) => scopes.join(" "), cell: ({ scopes }) => <Fold words={scopes.join(" ")} /> },
    { title: t("console.plants.title"), value: ({ plants }) => (plants ? plants.length : t("common.all")) },
    { title: t("console.people.since"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) },
  ];
}
