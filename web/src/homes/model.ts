/** The answers of the home API (docs/home-api.md), as far as the pages use them. */

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
  readonly floors: readonly { readonly id: string; readonly name: string; readonly rooms: readonly Room[] }[];
  readonly rooms: readonly Room[];
  readonly modules: readonly Module[];
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
