/** Days, weeks, months and years on the calendar of the home, and their hours, days or months. */

import { formatDate, formatDates } from "../app/i18n";
import { clockTime, instantOf } from "../app/local_time";

export const RANGES = ["day", "week", "month", "year"] as const;
export type Range = (typeof RANGES)[number];

/** The length of one value of a chart, as in the home API. */
type Per = "hour" | "day" | "month";

export const PER: Readonly<Record<Range, Per>> = { day: "hour", week: "hour", month: "day", year: "month" };

const HOUR = 3_600_000;

export interface Period {
  readonly range: Range;
  /** The IANA name of the time zone in which the period begins and ends. */
  readonly zone: string;
  readonly since: Date;
  readonly until: Date;
}

/** The period that has this time in it, or one that is `back` periods earlier. */
export function periodOf(range: Range, zone: string, back = 0, now: Date = new Date()): Period {
  return { range, zone, since: begin(range, zone, back, now), until: begin(range, zone, back - 1, now) };
}

/** The times at which the values of a chart begin. */
export function stepsOf({ range, zone, since, until }: Period): readonly Date[] {
  const per = PER[range];
  const steps: Date[] = [];
  // The gateway counts hours of UTC. In a zone with an offset such as +05:30, an hour belongs to the day in which it begins.
  const first = per === "hour" ? new Date(Math.ceil(since.getTime() / HOUR) * HOUR) : since;
  for (let at = first; at < until; at = next(per, zone, at)) steps.push(at);
  return steps;
}

function begin(range: Range, zone: string, back: number, now: Date): Date {
  const clock = clockTime(now, zone);
  const [year, month, day] = [clock.getUTCFullYear(), clock.getUTCMonth(), clock.getUTCDate()];
  switch (range) {
    case "day":
      return midnight(zone, year, month, day - back);
    case "week": // Weeks begin on Monday.
      return midnight(zone, year, month, day - ((clock.getUTCDay() + 6) % 7) - 7 * back);
    case "month":
      return midnight(zone, year, month - back, 1);
    case "year":
      return midnight(zone, year - back, 0, 1);
  }
}

function next(per: Per, zone: string, at: Date): Date {
  // An hour is added to the time itself, so that the hour at which the clocks change is right.
  if (per === "hour") return new Date(at.getTime() + HOUR);
  const clock = clockTime(at, zone);
  const [year, month, day] = [clock.getUTCFullYear(), clock.getUTCMonth(), clock.getUTCDate()];
  return per === "day" ? midnight(zone, year, month, day + 1) : midnight(zone, year, month + 1, 1);
}

/** The begin of a day. Months begin with 0. A day or month out of its range is one of an earlier or later month or year. */
function midnight(zone: string, year: number, month: number, day: number): Date {
  return instantOf(Date.UTC(year, month, day), zone);
}

/** The name of a period: "Mon, Nov 16, 2026", "Nov 9 – 15, 2026", "November 2026", "2026". */
export function periodWords({ range, zone, since, until }: Period): string {
  const words = (at: Date, options: Intl.DateTimeFormatOptions): string => formatDate(at, { ...options, timeZone: zone });
  if (range === "day") return words(since, { weekday: "short", day: "numeric", month: "short", year: "numeric" });
  if (range === "month") return words(since, { month: "long", year: "numeric" });
  if (range === "year") return words(since, { year: "numeric" });
  return formatDates(since, new Date(until.getTime() - 1), { dateStyle: "medium", timeZone: zone });
}

const TICKS: Readonly<Record<Range, Intl.DateTimeFormatOptions>> = {
  day: { hour: "numeric" },
  week: { weekday: "short" },
  month: { day: "numeric" },
  year: { month: "short" },
};

/** A time as short as the axis of a chart needs it. */
export function tickWords({ range, zone }: Period, at: Date): string {
  return formatDate(at, { ...TICKS[range], timeZone: zone });
}
