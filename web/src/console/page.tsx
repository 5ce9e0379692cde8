/** The console of operators: its navigation, and one page for each part of the gateway. */

import { SidePages, type Routes, type SidePage } from "../kit/side_pages";
import { ApplicationPage, Applications } from "./applications";
import { Audit } from "./audit";
import { Drivers } from "./drivers";
import { Estate } from "./estate/estate";
import { Keys } from "./keys";
import { ModulePage } from "./module";
import { Orders } from "./orders";
import { Overview } from "./overview";
import { People } from "./people";
import { PersonPage } from "./person";
import { PlantPage } from "./plant";
import { Plants } from "./plants";
import { Safety, SafetyPage } from "./safety";
import { SigningKeys } from "./signing_keys";
import { Start } from "./start/start";
import { WebhookPage, Webhooks } from "./webhooks";

export const texts = {
  en: () => import("./texts/en.toml"),
  de: () => import("./texts/de.toml"),
  fr: () => import("./texts/fr.toml"),
  it: () => import("./texts/it.toml"),
};

/** The pages in the navigation, each with its group, whose title is `console.nav.GROUP`. */
const PAGES: readonly SidePage[] = [
  ["overview", "check", "now"],
  ["plants", "home", "homes"],
  ["drivers", "plug", "homes"],
  ["estate", "code", "homes"],
  ["safety", "exit", "homes"],
  ["people", "people", "access"],
  ["applications", "remote", "access"],
  ["keys", "key", "access"],
  ["orders", "right", "traffic"],
  ["webhooks", "bell", "traffic"],
  ["audit", "history", "system"],
  ["signing_keys", "key", "system"],
];

const ROUTES: Routes = {
  overview: () => <Overview />,
  start: () => <Start />,
  plants: () => <Plants />,
  "plants/:id": ({ id = "" }) => <PlantPage key={id} id={id} />,
  "plants/:plant/modules/:id": ({ plant = "", id = "" }) => <ModulePage key={id} plant={plant} id={id} />,
  people: () => <People />,
  "people/:id": ({ id = "" }) => <PersonPage key={id} id={id} />,
  applications: () => <Applications />,
  "applications/:id": ({ id = "" }) => <ApplicationPage key={id} id={id} />,
  keys: () => <Keys />,
  drivers: () => <Drivers />,
  orders: () => <Orders />,
  webhooks: () => <Webhooks />,
  "webhooks/:id": ({ id = "" }) => <WebhookPage key={id} id={id} />,
  estate: () => <Estate />,
  safety: () => <Safety />,
  "safety/:id": ({ id = "" }) => <SafetyPage key={id} id={id} />,
  audit: () => <Audit />,
  signing_keys: () => <SigningKeys />,
};

export function Page() {
  return <SidePages area="console" pages={PAGES} routes={ROUTES} />;
}
