/** What devices measured in a period, as lines of a chart and as a table for a spreadsheet. */

import { api } from "../app/api";
import { PER, stepsOf, type Period } from "./period";

/** One hour, day or month of one measure: see docs/home-api.md. */
export interface PeriodReading {
  readonly at: string;
  readonly measure: string;
  readonly unit: string;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly last: number;
  readonly used: number | null;
}

export async function readReadings(home: string, module: string, period: Period, signal: AbortSignal): Promise<readonly PeriodReading[]> {
  const query = {
    per: PER[period.range],
    since: period.since.toISOString(),
    until: period.until.toISOString(),
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
  return (await api.get<{ items: readonly PeriodReading[] }>(`/home/v1/homes/${home}/modules/${module}/readings`, { query, signal })).items;
}

/** One value for each hour, day or month of the period; null where nothing was measured. A counter has what it counted in this time, in kWh. */
export function valuesOf(measure: string, readings: readonly PeriodReading[], period: Period): readonly (number | null)[] {
  const values = new Map<number, number>();
  for (const reading of readings) {
    if (reading.measure !== measure) continue;
    const at = Date.parse(reading.at);
    if (measure !== "energy") values.set(at, reading.mean);
    else if (reading.used !== null) values.set(at, (values.get(at) ?? 0) + reading.used / 1000);
  }
  return stepsOf(period).map((at) => values.get(at.getTime()) ?? null);
}

/** CSV (RFC 4180). The values have no character that needs quotes. */
export function csvOf(readings: readonly PeriodReading[]): string {
  const rows = readings.map(({ at, measure, unit, mean, low, high, last, used }) => [at, measure, unit, mean, low, high, last, used ?? ""].join(","));
  return ["at,measure,unit,mean,low,high,last,used", ...rows, ""].join("\r\n");
}
