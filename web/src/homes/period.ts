/** Days, weeks, months and years of the person's calendar, and their hours, days or months. */

import { formatDate } from "../app/i18n";

export const RANGES = ["day", "week", "month", "year"] as const;
export type Range = (typeof RANGES)[number];

/** The length of one value of a chart, as in the home API. */
type Per = "hour" | "day" | "month";

export const PER: Readonly<Record<Range, Per>> = { day: "hour", week: "hour", month: "day", year: "month" };

export interface Period {
  readonly range: Range;
  readonly since: Date;
  readonly until: Date;
}

/** The period that has this time in it, or one that is `back` periods earlier. */
export function periodOf(range: Range, back = 0, now: Date = new Date()): Period {
  return { range, since: begin(range, back, now), until: begin(range, back - 1, now) };
}

/** The times at which the values of a chart begin. */
export function stepsOf({ range, since, until }: Period): readonly Date[] {
  const steps: Date[] = [];
  for (let at = since; at < until; at = next(PER[range], at)) steps.push(at);
  return steps;
}

function begin(range: Range, back: number, now: Date): Date {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  switch (range) {
    case "day":
      return new Date(year, month, day - back);
    case "week": // Weeks begin on Monday.
      return new Date(year, month, day - ((now.getDay() + 6) % 7) - 7 * back);
    case "month":
      return new Date(year, month - back, 1);
    case "year":
      return new Date(year - back, 0, 1);
  }
}

function next(per: Per, at: Date): Date {
  // An hour is added to the time itself, so that the hour at which the clocks change is right.
  if (per === "hour") return new Date(at.getTime() + 3_600_000);
  return per === "day" ? new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1) : new Date(at.getFullYear(), at.getMonth() + 1, 1);
}

/** The name of a period: "16 November 2026", "9 – 15 November", "November 2026", "2026". */
export function periodWords({ range, since, until }: Period): string {
  if (range === "day") return formatDate(since, { weekday: "short", day: "numeric", month: "short", year: "numeric" });
  if (range === "month") return formatDate(since, { month: "long", year: "numeric" });
  if (range === "year") return formatDate(since, { year: "numeric" });
  return `${formatDate(since)} – ${formatDate(new Date(until.getTime() - 1))}`;
}

const TICKS: Readonly<Record<Range, Intl.DateTimeFormatOptions>> = {
  day: { hour: "numeric" },
  week: { weekday: "short" },
  month: { day: "numeric" },
  year: { month: "short" },
};

/** A time as short as the axis of a chart needs it. */
export function tickWords(range: Range, at: Date): string {
  return formatDate(at, TICKS[range]);
}
