/** The answer of `getOverview`, as far as the console uses it. */

import type { Driver } from "./model";

/** The problems that the overview knows. */
export type ProblemKind = "database" | "clock" | "driver" | "connection" | "modules" | "webhooks" | "dead letters" | "server errors" | "cluster";

type Counts = Readonly<Record<string, number>>;

interface Requests {
  readonly statuses: Counts;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

interface Sums {
  readonly requests: Readonly<Record<string, Requests>>;
  readonly events: number;
  readonly deliveries: Counts;
  readonly orders: Counts;
  readonly refusedLogins: number;
}

export interface Minute extends Sums {
  readonly until: string;
  readonly streams: number;
  readonly absentModules: number | null;
  readonly pendingDeliveries: number | null;
}

export interface OverviewData {
  readonly at: string;
  readonly version: string;
  /** The name of the gateway that answered; null if it is not a member of a cluster. */
  readonly gateway: string | null;
  readonly problems: readonly { readonly kind: ProblemKind; readonly detail: string; readonly name: string | null; readonly count: number | null }[];
  readonly drivers: readonly Driver[];
  readonly database: { readonly kind: string; readonly bytes: number; readonly reachable: boolean };
  readonly plants: { readonly active: number; readonly removed: number };
  readonly modules: { readonly total: number; readonly absent: Counts };
  readonly webhooks: { readonly active: number; readonly failing: number; readonly pending: number; readonly oldestPendingAt: string | null; readonly deadLetters: number };
  readonly openStreams: number;
  readonly openOrders: number;
  readonly lastHour: Sums;
  readonly minutes: readonly Minute[];
}

export interface ApiCounts {
  readonly api: string;
  readonly total: number;
  readonly done: number;
  readonly refused: number;
  readonly failed: number;
  /** The numbers of requests by status, the smallest status first. */
  readonly statuses: Counts;
  readonly p50: number | null;
  readonly p99: number | null;
}

export function sum(counts: Counts): number {
  return Object.values(counts).reduce((total, one) => total + one, 0);
}

/** Requests by API: answered, refused (4xx) and failed (5xx). The API with the most requests is first. */
export function countRequests({ requests }: Pick<Sums, "requests">): readonly ApiCounts[] {
  return Object.entries(requests)
    .map(([api, { statuses, p50Ms, p99Ms }]) => {
      const refused = sumFrom(statuses, 400, 500);
      const failed = sumFrom(statuses, 500, 600);
      const total = sum(statuses);
      return { api, total, done: total - refused - failed, refused, failed, statuses, p50: p50Ms, p99: p99Ms };
    })
    .sort((one, other) => other.total - one.total);
}

function sumFrom(statuses: Counts, from: number, to: number): number {
  return sum(Object.fromEntries(Object.entries(statuses).filter(([status]) => Number(status) >= from && Number(status) < to)));
}
