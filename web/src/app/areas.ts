/** The areas of the pages. The door and the navigation show the ones that exist and that the person may use. */

import type { ComponentType } from "preact";
import type { IconName } from "../parts/icons";
import { loadTexts, type TextLoaders } from "./i18n";
import type { Person } from "./session";

export interface AreaModule {
  readonly Page: ComponentType;
  readonly texts: TextLoaders;
}

export interface Area {
  /** The first part of its paths. Its texts for the door are `area.NAME.title` and `area.NAME.about`. */
  readonly name: "homes" | "console" | "developers";
  readonly icon: IconName;
  readonly needs: "anyone" | "person" | "operator";
  readonly load: () => Promise<AreaModule>;
}

export const AREAS: readonly Area[] = [
  { name: "homes", icon: "home", needs: "person", load: () => import("../homes/page") },
  { name: "console", icon: "console", needs: "operator", load: () => import("../console/page") },
  { name: "developers", icon: "code", needs: "anyone", load: () => import("../developers/page") },
];

const loaded = new Map<string, AreaModule>();

/** Load the script and the texts of an area. */
export async function loadArea(area: Area): Promise<AreaModule> {
  const module = await area.load();
  await loadTexts(module.texts);
  loaded.set(area.name, module);
  return module;
}

/** The area, if it is loaded already. */
export function loadedArea(area: Area): AreaModule | null {
  return loaded.get(area.name) ?? null;
}

/** Whether to offer the area. Before the login nobody knows whether the person is an operator, so it is offered then. */
export function mayUse(area: Area, person: Person | null): boolean {
  return area.needs !== "operator" || person === null || person.operator;
}
