/** The answer of `getOverview`. The types are those of the TypeScript client. */

import type { LastHour, Problem } from "@domogate/client/models/management";

export type { Activity as Minute, Overview as OverviewData } from "@domogate/client/models/management";

/** The problems that the overview knows. */
export type ProblemKind = Problem["kind"];

type Counts = Readonly<Record<string, number>>;

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
export function countRequests({ requests }: Pick<LastHour, "requests">): readonly ApiCounts[] {
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
