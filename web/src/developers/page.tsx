/** The portal of developers: everybody may read it. Calls need a person who is logged in. */

import { SidePages, type Routes, type SidePage } from "../kit/side_pages";
import { Start } from "./start";

export const texts = {
  en: () => import("./texts/en.toml"),
  de: () => import("./texts/de.toml"),
  fr: () => import("./texts/fr.toml"),
  it: () => import("./texts/it.toml"),
};

const PAGES: readonly SidePage[] = [["start", "home"]];

const ROUTES: Routes = {
  start: () => <Start />,
};

export function Page() {
  return <SidePages area="developers" pages={PAGES} routes={ROUTES} />;
}
