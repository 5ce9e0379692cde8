/** What a guest may use, and when, in words. */

import { formatDate, t } from "../app/i18n";
import type { Limits } from "../app/limits";
import type { Home } from "./model";
import { zoneOf } from "./zone";

/** What somebody may use: "Kitchen, Hall · until 5 March". */
export function limitWords(home: Home, limits: Limits | null): string {
  if (!limits) return t("homes.people.all");
  const names = new Map([
    ...home.floors.flatMap((floor) => [[floor.id, floor.name] as const, ...floor.rooms.map((room) => [room.id, room.name] as const)]),
    ...home.rooms.map((room) => [room.id, room.name] as const),
    ...home.modules.map((module) => [module.id, module.name] as const),
  ]);
  const places = [...limits.floors, ...limits.ambients, ...limits.modules].flatMap((id) => names.get(id) ?? []);
  const parts = [places.length ? places.join(", ") : t("homes.people.all")];
  if (limits.validFrom) parts.push(t("homes.people.from", { time: timeWords(home, limits.validFrom) }));
  if (limits.validUntil) parts.push(t("homes.people.until", { time: timeWords(home, limits.validUntil) }));
  return parts.join(" · ");
}

/** A time in the time zone of the home. */
export function timeWords(home: Home, at: string): string {
  return formatDate(new Date(at), { dateStyle: "medium", timeStyle: "short", timeZone: zoneOf(home) });
}
