/** The answers of the home API (docs/home-api.md), as far as the pages use them. */

import type { Limits } from "../app/limits";

export interface Reading {
  readonly value: number;
  readonly unit: "watt" | "watt_hour" | "C" | "F" | "%";
  readonly at: string;
}

export interface Color {
  readonly hue: number;
  readonly saturation: number;
  readonly value: number;
}

export interface LightState {
  readonly of: "light";
  readonly on: boolean;
  readonly level: number | null;
  readonly color: Color | null;
}

export interface PlugState {
  readonly of: "plug";
  readonly on: boolean;
  readonly power: Reading | null;
  readonly energy: Reading | null;
}

export interface ThermostatState {
  readonly of: "chronothermostat";
  readonly function: "heating" | "cooling";
  readonly mode: "automatic" | "manual" | "boost" | "off" | "protection";
  readonly setPoint: number;
  readonly program: number | null;
  readonly activationTime: string | null;
  readonly loadActive: boolean;
  readonly temperature: Reading | null;
  readonly humidity: Reading | null;
}

export interface EmergencyState {
  readonly of: "emergency";
  readonly failures: readonly { readonly type: string }[];
  readonly alert: boolean | null;
  readonly charge: number | null;
  readonly testing: string | null;
}

export type State =
  | LightState
  | PlugState
  | ThermostatState
  | EmergencyState
  | { readonly of: "automation"; readonly position: number }
  | { readonly of: "heater"; readonly on: boolean }
  | { readonly of: "energymeter"; readonly power: Reading | null; readonly energy: Reading | null }
  | { readonly of: "remote"; readonly battery: string }
  | { readonly of: "gateway"; readonly firmware: number | null }
  | { readonly of: "lock"; readonly locked: boolean }
  | { readonly of: "activation"; readonly active: boolean }
  | { readonly of: "camera"; readonly on: boolean }
  | { readonly of: "multisocket"; readonly sockets: readonly boolean[] };

export interface Module {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly roomId: string | null;
  /** The command that the person may send; null if the person may only look. */
  readonly command: string | null;
  readonly state: State | null;
  readonly reachable: boolean;
  readonly unreachable: { readonly why: string; readonly since: string } | null;
  readonly lastHeardAt: string | null;
  readonly simulated: boolean;
  readonly programs: readonly { readonly number: number; readonly name: string }[];
}

export interface Room {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

export interface Home {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly role: "owner" | "member" | "guest";
  readonly site: boolean;
  readonly until: string | null;
  /** The IANA name of its time zone, or null if it is not known. */
  readonly timeZone: string | null;
  readonly floors: readonly { readonly id: string; readonly name: string; readonly rooms: readonly Room[] }[];
  readonly rooms: readonly Room[];
  readonly modules: readonly Module[];
}

/** All rooms, in the order of the floors. */
export function roomsOf({ floors, rooms }: Pick<Home, "floors" | "rooms">): readonly Room[] {
  return [...floors.flatMap((floor) => floor.rooms), ...rooms];
}

export interface HomeSummary {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly role: Home["role"];
  readonly site: boolean;
  readonly floors: number;
  readonly rooms: number;
  readonly modules: number;
  readonly unreachable: number;
}

export type Command = { readonly do: string; readonly [name: string]: unknown };

export interface CommandResult {
  readonly outcome: "confirmed" | "unanswered" | "unreachable" | "refused" | "unknown";
  readonly detail: string;
  readonly beganAt: string;
  readonly endedAt: string | null;
  readonly module: Module;
}

/** The data of an event about a module (docs/events.md). */
export interface ModuleNotice {
  readonly plantId: string;
  readonly moduleId: string;
  readonly reachable: boolean;
  readonly absentSince: string | null;
  readonly state: State | null;
}

export interface HomePerson {
  readonly email: string;
  readonly name: string;
  readonly limits: Limits | null;
}

export interface People {
  readonly owner: HomePerson;
  readonly members: readonly HomePerson[];
  readonly invited: readonly Omit<HomePerson, "name">[];
}

export interface InvitationLink {
  readonly id: string;
  readonly note: string;
  readonly limits: Limits | null;
  readonly expiresAt: string;
}

export interface Webhook {
  readonly id: string;
  readonly homeId: string;
  readonly host: string;
  readonly failingSince: string | null;
}

export interface Application {
  readonly clientId: string;
  readonly name: string;
  readonly since: string;
  readonly current: boolean;
  readonly webhooks: readonly Webhook[];
}

export interface EmergencyDevice {
  readonly id: string;
  readonly name: string;
  readonly status: "working" | "in failure" | "no communication";
  readonly failures: readonly string[];
  readonly heardAt: string | null;
}

export interface Safety {
  readonly working: boolean;
  readonly inAlert: number;
  readonly controllers: readonly (EmergencyDevice & { readonly units: readonly EmergencyDevice[] })[];
}

export interface NamedPerson {
  readonly name: string;
  readonly isMe: boolean;
}

export interface RecentEvent {
  readonly at: string;
  readonly kind: "command" | "state" | "reachability" | "safety" | "people" | "home";
  readonly moduleId: string | null;
  readonly module: string | null;
  /** Null if it is not known, or if the person may not know it. */
  readonly by: NamedPerson | null;
  readonly command: Command | null;
  readonly outcome: CommandResult["outcome"] | null;
  readonly state: State | null;
  readonly reachable: boolean | null;
  readonly people: readonly NamedPerson[];
}

/** Kilowatt hours in a period and in the one before, and what they cost if a price is set. */
export interface Used {
  readonly used: number | null;
  readonly usedBefore: number | null;
  readonly cost: number | null;
  readonly costBefore: number | null;
}

export interface Energy extends Used {
  readonly currency: string | null;
  readonly rooms: readonly (Used & { readonly roomId: string })[];
  readonly modules: readonly (Used & { readonly moduleId: string })[];
  readonly simulated: boolean;
}
