/** The first step of the set-up that is not done yet. */

import { api } from "../../app/api";
import { MANAGE, readList, type Listing } from "../../kit/load";
import type { Client, Plant, User } from "../model";

export const STEPS = ["home", "devices", "people", "application", "done"] as const;
export type Step = (typeof STEPS)[number];

export interface Place {
  readonly step: Step;
  readonly home: string;
}

export async function findOpenStep(): Promise<Place> {
  const plants = await readList<Plant>("/plants");
  const [modules, users, clients] = await Promise.all([first<unknown>("modules", 1), first<User>("users", 2), first<Client>("clients", 1)]);
  const plant = plants.items.find(({ status }) => status === "active");
  if (!plant) return { step: "home", home: "" };
  const others = plant.allowed.length + plant.invitations.length;
  const step = !modules.length ? "devices" : !others && users.length < 2 ? "people" : clients.length ? "done" : "application";
  return { step, home: plant.id };
}

async function first<T>(list: string, limit: number): Promise<readonly T[]> {
  return (await api.get<Listing<T>>(`${MANAGE}/${list}`, { query: { limit } })).items;
}
