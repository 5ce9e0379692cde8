/** The answers of the management API (docs/management.md). The types are those of the TypeScript client. */

import type { Grant, Measurement as MeasurementOfApi } from "@domogate/client/models/management";

export type {
  Absence,
  AuditName,
  AuditRecord,
  Client,
  ClientGrant,
  ConnectionSetting,
  Delivery,
  Driver,
  DriverFacts,
  ExternalAccount,
  Fault,
  Grant,
  InvitedPerson as Invitation,
  Link,
  LogLine,
  Member,
  Module,
  NamedDeadLetter as DeadLetter,
  Order,
  OwnersLink,
  Passkey,
  Plant,
  Session,
  Setting,
  SigningKey,
  Subscription,
  User,
  Verification,
  Webhook,
} from "@domogate/client/models/management";

/** What grants of people and grants to applications have. */
export type GrantFacts = Pick<Grant, "id" | "scopes" | "createdAt" | "plants">;

/** The console asks for periods, so a measurement always has a mean. */
export type Measurement = MeasurementOfApi & { readonly mean: number };

export const STANDINGS = ["good", "password expired", "terms expired", "password and terms expired"] as const;

export const KINDS = [
  "light", "automation", "plug", "heater", "energymeter", "remote", "scene", "gateway", "lock", "activation", "audiovideo unit",
  "chronothermostat", "multisocket", "emergency controller", "emergency unit",
] as const;
export type Kind = (typeof KINDS)[number];

export const ABSENCES = ["never seen", "silent", "said so", "connection lost", "refused", "misconfigured", "injected", "simulated"] as const;

export const ORDER_STATES = ["queued", "sent", "confirmed", "failed", "expired", "unknown"] as const;

export const FAULTS = ["offline", "slow", "refusing", "battery", "failure", "408", "469", "470", "500"] as const;

/** The actions of the audit log in which a login is refused. The API takes several actions, separated by commas. */
export const LOGINS = "login, second factor";

export const AUDIT_ACTIONS = [
  "login", "second factor", "second factor changed", "logout", "session ended", "link issued",
  "password set", "terms accepted", "consent", "grant", "refresh", "refusal",
  "revocation", "user added", "user changed", "user deleted", "client saved", "client deleted",
  "invited", "allowed", "withdrawn", "left", "plant changed", "key issued",
  "key revoked", "signing keys rotated", "secret key rotated", "ticket issued", "ticket redeemed", "picture taken",
  "webhook added", "webhook changed", "webhook removed", "webhook ended", "dead letters replayed", "command",
  "logbook written", "estate imported", "estate exported", "audit exported", "backup",
  "driver changed", "clock confirmed", "entries dropped", "entries removed",
] as const;

export const LOG_LEVELS = ["debug", "info", "warning", "error", "critical"] as const;

