/** The answers of the home API, with the names that the pages use. The types are those of the TypeScript client. */

import type { ModuleData } from "@domogate/client/models/events";
import type {
  Command as CommandOfApi,
  EmergencyController,
  EmergencyUnit,
  Home as HomeInList,
  HomeEnergy,
  HomePeople,
  HomeSafety,
  Module as ModuleOfApi,
  OwnWebhook,
  Person,
  Room,
  Unreachable,
  WholeHome,
} from "@domogate/client/models/home";

export type {
  Application,
  Color,
  CommandResult,
  EmergencyState,
  InvitationLink,
  LightState,
  NamedPerson,
  PlugState,
  Reading,
  RecentEvent,
  Room,
  State,
  ThermostatState,
} from "@domogate/client/models/home";

/** A module on a page. Events do not say why a module is absent: then `why` is empty until the page reads the module again. */
export interface Module extends Omit<ModuleOfApi, "unreachable"> {
  readonly unreachable: (Omit<Unreachable, "why"> & { readonly why: Unreachable["why"] | "" }) | null;
}

export type Home = WholeHome;
export type HomeSummary = HomeInList;
export type HomePerson = Person;
export type People = HomePeople;
export type Webhook = OwnWebhook;
export type EmergencyDevice = EmergencyController | EmergencyUnit;
export type Safety = HomeSafety;
export type Energy = HomeEnergy;

/** The data of an event about a module (docs/events.md). */
export type ModuleNotice = ModuleData;

/** A command to a module, or to run a scene, which is another operation of the API. */
export type Command = CommandOfApi | { readonly do: "run scene" };

/** Kilowatt hours in a period and in the one before, and what they cost if a price is set. */
export type Used = Pick<HomeEnergy, "used" | "usedBefore" | "cost" | "costBefore">;

/** All rooms, in the order of the floors. */
export function roomsOf({ floors, rooms }: Pick<Home, "floors" | "rooms">): readonly Room[] {
  return [...floors.flatMap((floor) => floor.rooms), ...rooms];
}
