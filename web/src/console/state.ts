/** States and commands of modules as one line of text, in the words of the API. */

import { formatNumber } from "../app/i18n";

/** `on: true · level: 50 · power: 12.3 watt`, with at most `most` values. Missing values are left out. */
export function stateText(state: Readonly<Record<string, unknown>> | null, most = 10): string {
  return stateFacts(state)
    .slice(0, most)
    .map(([name, value]) => `${name}: ${value}`)
    .join(" · ");
}

export function stateFacts(state: Readonly<Record<string, unknown>> | null): readonly (readonly [string, string])[] {
  return Object.entries(state ?? {}).flatMap(([name, value]) => (name === "of" || name === "do" || value === null ? [] : [[name, valueText(value)] as const]));
}

function valueText(value: unknown): string {
  if (typeof value === "number") return formatNumber(value);
  if (Array.isArray(value)) return value.map(valueText).join(", ") || "–";
  if (typeof value !== "object" || value === null) return String(value);
  const { value: amount, unit } = value as { value?: unknown; unit?: unknown };
  if (typeof amount === "number" && typeof unit === "string") return `${formatNumber(amount)} ${unit}`;
  return Object.entries(value)
    .filter(([, part]) => part !== null)
    .map(([name, part]) => `${name} ${valueText(part)}`)
    .join(", ");
}
