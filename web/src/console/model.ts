/** The answers of the management API (docs/management.md), as far as the console uses them. */

import type { Limits } from "../app/limits";

export interface Link {
  readonly url: string | null;
  readonly mailed: boolean;
  readonly expiresAt: string;
}

export const STANDINGS = ["good", "password expired", "terms expired", "password and terms expired"] as const;

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly active: boolean;
  readonly standing: (typeof STANDINGS)[number];
  readonly operator: boolean;
  readonly secondFactor: boolean;
  readonly language: string | null;
  readonly termsVersion: string | null;
}

export interface Session {
  readonly id: string;
  readonly createdAt: string;
  readonly seenAt: string;
  readonly address: string;
  /** The User-Agent header. */
  readonly agent: string;
  /** The browser and the operating system that the header names. Both may be empty. */
  readonly browser: string;
  readonly system: string;
}

export interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly usedAt: string | null;
}

export interface ExternalAccount {
  readonly issuer: string;
  readonly subject: string;
  readonly boundAt: string;
}

export interface GrantFacts {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  /** The chosen plants; null: all plants of the person. */
  readonly plants: readonly string[] | null;
}

/** A grant of a person. */
export interface Grant extends GrantFacts {
  readonly clientId: string;
}

/** A grant to an application. */
export interface ClientGrant extends GrantFacts {
  readonly userId: string;
  readonly email: string;
}

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly confidential: boolean;
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly origins: readonly string[];
  readonly grants: readonly string[];
  readonly scopes: readonly string[];
  readonly accessTokenEverywhere: boolean;
  readonly pkceExempt: boolean;
}

export interface Subscription {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly rate: string | null;
  readonly dailyQuota: number | null;
  /** Requests of this UTC day. */
  readonly usedToday: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export interface Invitation {
  readonly email: string;
  readonly limits: Limits | null;
}

export interface Member extends Invitation {
  readonly userId: string;
}

/** An invitation link of the owner of a plant. */
export interface OwnersLink {
  readonly id: string;
  readonly note: string;
  readonly userId: string;
  readonly email: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface Plant {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly status: "active" | "removed";
  readonly removedAt: string | null;
  readonly country: string | null;
  readonly timeZone: string | null;
  readonly zipCode: string | null;
  readonly address: string | null;
  readonly emergencyLighting: boolean;
  readonly owner: Member;
  readonly allowed: readonly Member[];
  readonly invitations: readonly Invitation[];
}

export const KINDS = [
  "light", "automation", "plug", "heater", "energymeter", "remote", "scene", "gateway", "lock", "activation", "audiovideo unit",
  "chronothermostat", "multisocket", "emergency controller", "emergency unit",
] as const;
export type Kind = (typeof KINDS)[number];

export const ABSENCES = ["never seen", "silent", "said so", "connection lost", "refused", "misconfigured", "injected", "simulated"] as const;

export interface Absence {
  readonly why: string;
  readonly since: string;
  readonly evidence: string;
  readonly code: string;
  readonly values: Readonly<Record<string, string>>;
}

export interface Module {
  readonly id: string;
  readonly name: string;
  readonly kind: Kind;
  readonly driver: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly simulated: boolean;
  readonly ambientId: string | null;
  readonly ambient: string | null;
  readonly state: Readonly<Record<string, unknown>> | null;
  readonly reachable: boolean;
  readonly absence: Absence | null;
  readonly reportedAt: string | null;
}

export const ORDER_STATES = ["queued", "sent", "confirmed", "failed", "expired", "unknown"] as const;

export interface Order {
  readonly id: string;
  readonly plantId: string;
  readonly plantName?: string;
  readonly moduleId: string;
  readonly moduleName?: string;
  readonly command: Readonly<Record<string, unknown>>;
  readonly userId: string | null;
  readonly state: (typeof ORDER_STATES)[number];
  readonly problem: string;
  readonly deadline: string;
  readonly queuedAt: string;
  readonly sentAt: string | null;
  readonly endedAt: string | null;
}

export interface Measurement {
  readonly measure: string;
  readonly unit: string;
  readonly at: string;
  readonly mean: number;
}

export const FAULTS = ["offline", "slow", "refusing", "battery", "failure", "408", "469", "470", "500"] as const;

export interface Fault {
  readonly plantId: string;
  readonly plantName?: string;
  readonly moduleId: string | null;
  readonly moduleName?: string;
  readonly fault: (typeof FAULTS)[number];
  readonly value: string;
  readonly until: string | null;
}

interface DriverConnection {
  readonly name: string;
  readonly address: string;
  readonly state: string;
  readonly since: string | null;
  readonly problem: string;
}

export interface Driver {
  readonly name: string;
  readonly condition: "starting" | "running" | "down" | "stopped";
  readonly since: string;
  readonly restarts: number;
  readonly lastError: string;
  readonly lastErrorAt: string | null;
  readonly nextStartAt: string | null;
  readonly plants: number;
  readonly waitingReports: number;
  readonly leftBehind: number;
  readonly connections: readonly DriverConnection[];
}

export interface DriverFacts {
  readonly name: string;
  readonly kinds: readonly Kind[];
  readonly connections: readonly string[];
  readonly canDiscover: boolean;
  readonly canSetConnection: boolean;
  /** Set in the console. Connections in the settings are only in `connections`. */
  readonly connection: ConnectionSetting | null;
}

export interface ConnectionSetting {
  readonly url: string;
  readonly username: string | null;
  readonly hasPassword: boolean;
}

export interface Webhook {
  readonly id: string;
  readonly clientId: string;
  readonly userId: string;
  readonly plantId: string;
  readonly url: string;
  readonly kinds: readonly string[];
  readonly form: string;
  readonly createdAt: string;
  readonly failingSince: string | null;
  readonly failures: number;
  readonly nextAttemptAt: string | null;
  readonly problem: string;
  readonly endedAt: string | null;
  readonly endedWhy: string;
  readonly endedReason: string;
}

/** An attempt to deliver. `status` is null if the receiver did not answer. */
export interface Delivery {
  readonly at: string;
  readonly eventId: string;
  readonly attempt: number;
  readonly milliseconds: number;
  readonly status: number | null;
  readonly problem: string;
}

export interface DeadLetter {
  readonly id: string;
  readonly time: string;
  readonly moduleId: string | null;
  readonly moduleName?: string;
  readonly what: string;
  readonly attempts: number;
  readonly problem: string;
  readonly deadAt: string | null;
}

/** The actions of the audit log in which a login is refused. The API takes several actions, separated by commas. */
export const LOGINS = "login, second factor";

export const AUDIT_ACTIONS = [
  "login", "second factor", "second factor changed", "logout", "session ended", "link issued",
  "password set", "terms accepted", "consent", "grant", "refresh", "refusal",
  "revocation", "user added", "user changed", "user deleted", "client saved", "client deleted",
  "invited", "allowed", "withdrawn", "left", "plant changed", "key issued",
  "key revoked", "signing keys rotated", "secret key rotated", "ticket issued", "ticket redeemed", "picture taken",
  "webhook added", "webhook changed", "webhook removed", "webhook ended", "dead letters replayed", "command",
  "logbook written", "management", "estate imported", "estate exported", "audit exported", "backup",
  "driver changed", "clock confirmed", "entries dropped", "entries removed",
] as const;

/** A thing in an entry of the audit log that still exists. */
export interface AuditName {
  readonly id: string;
  readonly kind: "plant" | "module" | "client" | "subscription";
  readonly name: string;
  readonly plantId: string | null;
}

export interface AuditRecord {
  readonly number: number;
  readonly at: string;
  readonly action: string;
  readonly who: string;
  readonly what: string;
  readonly result: string;
  readonly address: string;
  readonly detail: Readonly<Record<string, string>>;
  readonly people: readonly { readonly pseudonym: string; readonly userId: string; readonly email: string }[];
  readonly names: readonly AuditName[];
}

export interface Verification {
  readonly records: number;
  readonly lastHash: string;
  readonly broken: { readonly number: number; readonly problem: string } | null;
}

export interface Setting {
  readonly name: string;
  readonly help: string;
  readonly secret: boolean;
  readonly value: string | null;
  readonly default: string;
  readonly source: string;
  readonly place: string;
}

export const LOG_LEVELS = ["debug", "info", "warning", "error", "critical"] as const;

export interface LogLine {
  readonly at: string;
  readonly level: string;
  readonly text: string;
}

export interface SigningKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly state: string;
  readonly signsFrom: string;
  readonly retiredAt: string | null;
}
