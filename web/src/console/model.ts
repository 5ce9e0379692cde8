/** The answers of the management API (docs/management.md), as far as the console uses them. */

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
  readonly agent: string;
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

export interface Grant {
  readonly id: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly plants: readonly string[] | null;
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
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly limits: { readonly validFrom: string | null; readonly validUntil: string | null } | null;
}

export interface Plant {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly status: "active" | "removed";
  readonly removedAt: string | null;
  readonly country: string | null;
  readonly zipCode: string | null;
  readonly address: string | null;
  readonly emergencyLighting: boolean;
  readonly owner: Member;
  readonly allowed: readonly Member[];
  readonly invited: readonly string[];
}

export const KINDS = [
  "light", "automation", "plug", "heater", "energymeter", "remote", "scene", "gateway", "lock", "activation", "audiovideo unit",
  "chronothermostat", "multisocket", "emergency controller", "emergency unit",
] as const;
export type Kind = (typeof KINDS)[number];

export interface Module {
  readonly id: string;
  readonly name: string;
  readonly kind: Kind;
  readonly driver: string;
  readonly simulated: boolean;
  readonly ambient: string | null;
  readonly state: Readonly<Record<string, unknown>> | null;
  readonly reachable: boolean;
  readonly absence: { readonly why: string; readonly since: string; readonly evidence: string } | null;
  readonly reportedAt: string | null;
}

export interface Order {
  readonly id: string;
  readonly moduleId: string;
  readonly command: Readonly<Record<string, unknown>>;
  readonly userId: string | null;
  readonly state: "queued" | "sent" | "confirmed" | "failed" | "expired" | "unknown";
  readonly problem: string;
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
  readonly moduleId: string | null;
  readonly fault: (typeof FAULTS)[number];
  readonly value: string;
  readonly until: string | null;
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
}
