/** The portal of developers: everybody may read it. Calls need a person who is logged in. */

import { SidePages, type Routes, type SidePage } from "../kit/side_pages";
import { OperationPage } from "./operation";
import { Api, Reference } from "./reference";
import { Start } from "./start";

export const texts = {
  en: () => import("./texts/en.toml"),
  de: () => import("./texts/de.toml"),
  fr: () => import("./texts/fr.toml"),
  it: () => import("./texts/it.toml"),
};

const PAGES: readonly SidePage[] = [
  ["start", "home"],
  ["reference", "code"],
];

const ROUTES: Routes = {
  start: () => <Start />,
  reference: () => <Reference />,
  "reference/:api": ({ api = "" }) => <Api key={api} api={api} />,
  "reference/:api/:id": ({ api = "", id = "" }) => <OperationPage key={`${api} ${id}`} api={api} id={id} />,
};

export function Page() {
  return <SidePages area="developers" pages={PAGES} routes={ROUTES} />;
}
