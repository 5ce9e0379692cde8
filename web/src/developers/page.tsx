/** The portal of developers: everybody may read it. Calls need a person who is logged in. */

import { SidePages, type Routes, type SidePage } from "../kit/side_pages";
import { OwnApplications } from "./applications";
import { Errors } from "./errors_page";
import { OperationPage } from "./operation";
import { Api, Reference } from "./reference";
import { Start } from "./start";
import { Stream } from "./stream";
import { TokenInspector } from "./token";
import { WebhookTester } from "./webhook_tester";

export const texts = {
  en: () => import("./texts/en.toml"),
  de: () => import("./texts/de.toml"),
  fr: () => import("./texts/fr.toml"),
  it: () => import("./texts/it.toml"),
};

const PAGES: readonly SidePage[] = [
  ["start", "home"],
  ["reference", "code"],
  ["applications", "key"],
  ["errors", "warning"],
  ["stream", "history"],
  ["webhooks", "bell"],
  ["token", "search"],
];

const ROUTES: Routes = {
  start: () => <Start />,
  reference: () => <Reference />,
  "reference/:api": ({ api = "" }) => <Api key={api} api={api} />,
  "reference/:api/:id": ({ api = "", id = "" }) => <OperationPage key={`${api} ${id}`} api={api} id={id} />,
  applications: () => <OwnApplications />,
  errors: () => <Errors />,
  stream: () => <Stream />,
  webhooks: () => <WebhookTester />,
  token: () => <TokenInspector />,
};

export function Page() {
  return <SidePages area="developers" pages={PAGES} routes={ROUTES} />;
}
