/** The columns of a table of grants: the access that people gave to applications. */

import { t } from "../app/i18n";
import { Fold } from "../kit/fold";
import { when } from "../kit/parts";
import type { Column } from "../kit/table";
import type { GrantFacts } from "./model";

/** `first` says who gave the grant, or to which application. */
export function grantColumns<T extends GrantFacts>(first: Column<T>): readonly Column<T>[] {
  return [
    first,
    { title: t("console.scopes"), value: ({ scopes }) => scopes.join(" "), cell: ({ scopes }) => <Fold words={scopes.join(" ")} /> },
    { title: t("console.plants.title"), value: ({ plants }) => (plants ? plants.length : t("common.all")) },
    { title: t("console.people.since"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) },
  ];
}
