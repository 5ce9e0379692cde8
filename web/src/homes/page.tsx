/** My homes: the list of homes, one home, one room, one device, and the pages about one home. */

import type { ComponentType } from "preact";
import { match } from "../app/router";
import { t } from "../app/i18n";
import { Refusal } from "../parts/refusal";
import { DevicePage } from "./device_page";
import { EnergyPage } from "./energy";
import { EventsPage } from "./events";
import { HomePage } from "./home";
import { Homes } from "./homes";
import { PeoplePage } from "./people";
import { SafetyPage } from "./safety";
import type { OpenHome } from "./store";
import { WithHome } from "./with_home";

export const texts = {
  en: () => import("./texts/en.toml"),
  de: () => import("./texts/de.toml"),
  fr: () => import("./texts/fr.toml"),
  it: () => import("./texts/it.toml"),
};

const ABOUT_HOME: ReadonlyMap<string, ComponentType<{ open: OpenHome }>> = new Map([
  ["energy", EnergyPage],
  ["events", EventsPage],
  ["people", PeoplePage],
  ["safety", SafetyPage],
]);

export function Page() {
  if (match("/homes")) return <Homes />;
  const home = match("/homes/:home");
  if (home?.home) return <WithHome key={home.home} id={home.home} show={(open) => <HomePage open={open} />} />;
  const about = match("/homes/:home/:about");
  const About = ABOUT_HOME.get(about?.about ?? "");
  if (about?.home && About) return <WithHome key={about.home} id={about.home} show={(open) => <About open={open} />} />;
  const room = match("/homes/:home/rooms/:room");
  if (room?.home && room.room) {
    const { home: id, room: only } = room;
    return <WithHome key={id} id={id} show={(open) => <HomePage open={open} only={only} />} />;
  }
  const device = match("/homes/:home/devices/:device");
  if (device?.home && device.device) {
    const { home: id, device: shown } = device;
    return <WithHome key={id} id={id} show={(open) => <DevicePage open={open} id={shown} />} />;
  }
  return <Refusal words={t("error.no_page")} back={["/homes", t("homes.title")]} />;
}
