/** The TypeScript client of Domogate. */

export { ETagCache } from "./cache.js";
export { Caller, type CallOptions, type CommandOptions, type RawContent, type Settings } from "./caller.js";
export { Client } from "./client.js";
export * from "./errors.js";
export {
  type CloudEvent,
  isModuleEvent,
  isPlantEvent,
  type ModuleEvent,
  type PlantEvent,
  type ReadyItem,
  type ResetItem,
  type StreamItem,
} from "./events.js";
export * as faults from "./faults.js";
export type { Fetch } from "./http.js";
export { beginLogin, finishLogin, type LoginAttempt, type LoginSettings } from "./login.js";
export type { Retries } from "./retries.js";
export { EventStream, type StreamOptions } from "./stream.js";
export { Session, type SessionSettings, type Tokens, type TokenStore, WebTokenStore } from "./tokens.js";
export {
  deliveryId,
  type DeliveryHeaders,
  type Notification,
  verify,
  verifyNotifications,
  type VerifyOptions,
} from "./webhooks.js";
