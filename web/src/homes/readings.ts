/** What devices measured in a period, as lines of a chart and as a table for a spreadsheet. */

import { api } from "../app/api";
import { printCsv } from "../app/csv";
import { toOffsetTime } from "../app/local_time";
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

export async function readReadings(home: string, module: string, period: Period, signal?: AbortSignal): Promise<readonly PeriodReading[]> {
  const query = {
    per: PER[period.range],
    since: period.since.toISOString(),
    until: period.until.toISOString(),
    timezone: period.zone,
  };
  const { items } = await api.get<{ items: readonly PeriodReading[] }>(`/home/v1/homes/${home}/modules/${module}/readings`, { query, ...(signal ? { signal } : {}) });
  // In a zone with an offset such as +05:30, the first hour of UTC began before the period.
  return items.filter(({ at }) => Date.parse(at) >= period.since.getTime());
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

const COLUMNS = ["measure", "unit", "mean", "low", "high", "last", "used"] as const;

/** A table with a line for each reading. Its times have the offset of the zone. */
export function csvOf(readings: readonly PeriodReading[], zone: string): string {
  return printCsv([["at", ...COLUMNS], ...readings.map((reading) => cellsOf(reading, zone))]);
}

/** The same table for several devices: the first column has the name of the device. */
export function csvOfDevices(devices: readonly (readonly [name: string, readings: readonly PeriodReading[]])[], zone: string): string {
  return printCsv([["device", "at", ...COLUMNS], ...devices.flatMap(([name, readings]) => readings.map((reading) => [name, ...cellsOf(reading, zone)]))]);
}

function cellsOf(reading: PeriodReading, zone: string): readonly (string | number | null)[] {
  return [toOffsetTime(new Date(reading.at), zone), ...COLUMNS.map((column) => reading[column])];
}
