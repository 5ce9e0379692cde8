/** Searches for devices and adds them to a plant; the rooms that the names of devices contain. */

import { api } from "../app/api";
import { MANAGE } from "../kit/load";

export interface FoundDevice {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly driver: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly hardware: Readonly<Record<string, unknown>>;
  readonly about: string;
  readonly place: { readonly plantId: string; readonly plant: string; readonly ambient: string | null } | null;
}

export interface Discovery {
  readonly found: readonly FoundDevice[];
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
  readonly total: number;
}

export interface Placement {
  readonly placed: readonly { readonly id: string; readonly name: string }[];
  readonly left: readonly { readonly id: string; readonly name: string; readonly why: string }[];
}

/** The gateway listens at most 30 s. */
const LONGEST = 60_000;

export function discover(driver: string, connection: string | null, seconds: number): Promise<Discovery> {
  return api.post<Discovery>(`${MANAGE}/discoveries`, { driver, connection, seconds }, { timeout: LONGEST });
}

/** Add devices to a plant, each into its room. The pattern chooses rooms for devices without one. */
export function place(plant: string, devices: readonly (readonly [FoundDevice, string | null])[], pattern: string | null = null): Promise<Placement> {
  const modules = devices.map(([{ id, name, kind, driver, options, hardware }, ambientId]) => ({ id, name, kind, driver, options, hardware, ambientId }));
  return api.post<Placement>(`${MANAGE}/plants/${plant}/placements`, { modules, pattern });
}

export interface Room {
  readonly id: string;
  readonly name: string;
}

function wordsOf(name: string): readonly string[] {
  return name.toLowerCase().split(/[\s_./-]+/).filter(Boolean);
}

/** The room with the longest name whose words are all in the name of the device. */
export function guessRoom(device: string, rooms: readonly Room[]): Room | null {
  const words = wordsOf(device);
  const fitting = rooms.filter(({ name }) => wordsOf(name).length && wordsOf(name).every((word) => words.includes(word)));
  return fitting.sort((one, other) => other.name.length - one.name.length)[0] ?? null;
}

/** "Reading lamp" for `kitchen_reading_lamp` in the kitchen. */
export function nameInRoom(device: string, room: Room | null): string {
  const taken = wordsOf(room?.name ?? "");
  const rest = wordsOf(device).filter((word) => !taken.includes(word)).join(" ");
  return rest ? rest.charAt(0).toUpperCase() + rest.slice(1) : device;
}
