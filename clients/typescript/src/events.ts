/** Events of the gateway: as the event stream sends them, and as webhooks deliver them (CloudEvents 1.0). */

import { UnexpectedAnswer } from "./errors.js";
import type { ModuleData, PlantData, Ready, Reset } from "./models/events.js";

/** The attributes of every event. Two events with the same `source` and `id` are duplicates. */
export interface CloudEvent {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  /** `domogate.` and the kind of the event: `domogate.state`, or a kind that this version of the client does not know. */
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype?: string;
  readonly data?: unknown;
}

/** The state of a module. */
export interface ModuleEvent extends CloudEvent {
  readonly type: "domogate.state" | "domogate.reachability" | "domogate.safety" | "domogate.present";
  readonly data: ModuleData;
}

/** A plant or its people changed. Read the plant again. */
export interface PlantEvent extends CloudEvent {
  readonly type: "domogate.plant" | "domogate.people";
  readonly data: PlantData;
}

/** All later events are new. */
export interface ReadyItem extends Ready {
  readonly type: "ready";
}

/** Missed events cannot be sent. The present states follow. */
export interface ResetItem extends Reset {
  readonly type: "reset";
}

/** What an event stream has. `isModuleEvent`, `isPlantEvent` and the `type` distinguish the items. */
export type StreamItem = CloudEvent | ReadyItem | ResetItem;

const OF_MODULES = new Set(["domogate.state", "domogate.reachability", "domogate.safety", "domogate.present"]);
const OF_PLANTS = new Set(["domogate.plant", "domogate.people"]);

export function isModuleEvent(item: StreamItem): item is ModuleEvent {
  return OF_MODULES.has(item.type);
}

export function isPlantEvent(item: StreamItem): item is PlantEvent {
  return OF_PLANTS.has(item.type);
}

/** The CloudEvent in a text. Throws `UnexpectedAnswer` for any other text. */
export function readEvent(text: string): CloudEvent {
  const event = readItem(text) as unknown as Partial<CloudEvent>;
  if (["id", "source", "type", "subject", "time"].every((name) => typeof event[name as keyof CloudEvent] === "string")) {
    const needsData = OF_MODULES.has(event.type ?? "") || OF_PLANTS.has(event.type ?? "");
    if (!needsData || (typeof event.data === "object" && event.data !== null)) return event as CloudEvent;
  }
  throw new UnexpectedAnswer("an event has another form than expected");
}

/** The JSON object in a text. */
export function readItem(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // The error below says the same.
  }
  throw new UnexpectedAnswer("an event has another form than expected");
}
