/** Measured values with the units that people know. */

import { formatNumber, formatUnit } from "./i18n";

const SYMBOLS: Readonly<Record<string, string>> = { watt: "W", watt_hour: "Wh", C: "°C", F: "°F" };

/** The symbol of a unit of the API. */
export function unitSymbol(unit: string): string {
  return SYMBOLS[unit] ?? unit;
}

export function readingWords({ value, unit }: { readonly value: number; readonly unit: string }): string {
  switch (unit) {
    case "C":
      return formatUnit(value, "celsius", { maximumFractionDigits: 1 });
    case "F":
      return `${formatNumber(value, { maximumFractionDigits: 1 })} °F`;
    case "%":
      return formatUnit(value, "percent", { maximumFractionDigits: 0 });
    case "watt":
      return `${formatNumber(value, { maximumFractionDigits: value < 10 ? 1 : 0 })} W`;
    case "watt_hour":
      return `${formatNumber(value / 1000, { maximumFractionDigits: value < 100_000 ? 2 : 0 })} kWh`;
    default:
      return `${formatNumber(value)} ${unit}`;
  }
}
