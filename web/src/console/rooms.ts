/** The rooms (ambients) of a plant, as far as they have modules. */

import { readList } from "../kit/load";
import type { Module } from "./model";

export interface Room {
  readonly id: string;
  readonly name: string;
}

export async function readRooms(plant: string): Promise<readonly Room[]> {
  const { items } = await readList<Module>(`/plants/${plant}/modules`);
  const names = new Map(items.flatMap(({ ambientId, ambient }) => (ambientId && ambient ? [[ambientId, ambient] as const] : [])));
  return [...names].map(([id, name]) => ({ id, name })).sort((one, other) => one.name.localeCompare(other.name));
}
