/** The floors and rooms (ambients) of a plant. */

import { api } from "../app/api";
import { MANAGE } from "../kit/load";

export interface Room {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly floorId: string | null;
  readonly modules: number;
}

export interface Floor {
  readonly id: string;
  readonly name: string;
  readonly ambients: readonly Room[];
}

export interface Content {
  readonly floors: readonly Floor[];
  /** Rooms on no floor. */
  readonly ambients: readonly Room[];
}

export function readContent(plant: string): Promise<Content> {
  return api.get<Content>(`${MANAGE}/plants/${plant}/content`);
}

/** All rooms, in the order of the floors. */
export function roomsOf({ floors, ambients }: Content): readonly Room[] {
  return [...floors.flatMap((floor) => floor.ambients), ...ambients];
}

export async function readRooms(plant: string): Promise<readonly Room[]> {
  return roomsOf(await readContent(plant));
}
