/** The console of operators: its navigation, and one page for each part of the gateway. */

import { SidePages, type Routes, type SidePage } from "../kit/side_pages";
import { ApplicationPage, Applications } from "./applications";
import { Audit } from "./audit";
import { Backup } from "./backup";
import { DiscoveryPage } from "./discovery";
import { Drivers } from "./drivers";
import { Estate } from "./estate/estate";
import { Events } from "./events";
import { AllFaults } from "./faults";
import { Keys } from "./keys";
import { Logs } from "./logs";
import { ModulePage } from "./module";
import { Modules } from "./modules";
import { Orders } from "./orders";
import { Overview } from "./overview";
import { People } from "./people";
import { PersonPage } from "./person";
import { PlantPage } from "./plant";
import { Plants } from "./plants";
import { RoomsPage } from "./rooms_page";
import { Safety, SafetyPage } from "./safety";
import { SettingsPage } from "./settings";
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
  ["modules", "lamp", "homes"],
  ["discovery", "search", "homes"],
  ["drivers", "plug", "homes"],
  ["estate", "code", "homes"],
  ["safety", "exit", "homes"],
  ["people", "people", "access"],
  ["applications", "remote", "access"],
  ["keys", "key", "access"],
  ["orders", "right", "traffic"],
  ["events", "energy", "traffic"],
  ["webhooks", "bell", "traffic"],
  ["faults", "warning", "traffic"],
  ["audit", "history", "system"],
  ["signing_keys", "key", "system"],
  ["backup", "copy", "system"],
  ["settings", "settings", "system"],
  ["logs", "console", "system"],
  ["start", "right", "system"],
];

const ROUTES: Routes = {
  overview: () => <Overview />,
  start: () => <Start />,
  plants: () => <Plants />,
  "plants/:id": ({ id = "" }) => <PlantPage key={id} id={id} />,
  "plants/:id/rooms": ({ id = "" }) => <RoomsPage key={id} id={id} />,
  "plants/:plant/modules/:id": ({ plant = "", id = "" }) => <ModulePage key={id} plant={plant} id={id} />,
  people: () => <People />,
  "people/:id": ({ id = "" }) => <PersonPage key={id} id={id} />,
  applications: () => <Applications />,
  "applications/:id": ({ id = "" }) => <ApplicationPage key={id} id={id} />,
  keys: () => <Keys />,
  modules: () => <Modules />,
  discovery: () => <DiscoveryPage />,
  drivers: () => <Drivers />,
  orders: () => <Orders />,
  faults: () => <AllFaults />,
  webhooks: () => <Webhooks />,
  "webhooks/:id": ({ id = "" }) => <WebhookPage key={id} id={id} />,
  estate: () => <Estate />,
  safety: () => <Safety />,
  "safety/:id": ({ id = "" }) => <SafetyPage key={id} id={id} />,
  events: () => <Events />,
  backup: () => <Backup />,
  settings: () => <SettingsPage />,
  logs: () => <Logs />,
  audit: () => <Audit />,
  signing_keys: () => <SigningKeys />,
};

export function Page() {
  return <SidePages area="console" pages={PAGES} routes={ROUTES} />;
}
