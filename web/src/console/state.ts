/** States and commands of modules in words. */

import { formatNumber, formatTime, hasText, t } from "../app/i18n";
import { readingWords } from "../app/units";
import { valueWords } from "./values";

/** `On: Yes · Level: 50 · Power: 12 W`, with at most `most` values. Missing values are left out. */
export function stateText(state: object | null, most = 10): string {
  return stateFacts(state)
    .slice(0, most)
    .map(([name, value]) => `${name}: ${value}`)
    .join(" · ");
}

export function stateFacts(state: object | null): readonly (readonly [string, string])[] {
  return Object.entries(state ?? {}).flatMap(([name, value]) => (name === "of" || name === "do" || value === null ? [] : [[valueName(name), valueText(value)] as const]));
}

/** The name of a value of the API, or of a measure. */
export function valueName(name: string): string {
  return hasText(`console.value.${name}`) ? t(`console.value.${name}`) : name;
}

const TIME = /^\d{4}-\d\d-\d\dT/;

function valueText(value: unknown): string {
  if (typeof value === "number") return formatNumber(value);
  if (typeof value === "boolean") return t(value ? "console.yes" : "console.no");
  if (typeof value === "string") return TIME.test(value) ? formatTime(new Date(value)) : valueWords("word", value).replaceAll("_", " ");
  if (Array.isArray(value)) return value.map(valueText).join(", ") || "–";
  if (typeof value !== "object" || value === null) return String(value);
  const { value: amount, unit } = value as { value?: unknown; unit?: unknown };
  if (typeof amount === "number" && typeof unit === "string") return readingWords({ value: amount, unit });
  return Object.entries(value)
    .filter(([, part]) => part !== null)
    .map(([name, part]) => `${valueName(name)} ${valueText(part)}`)
    .join(", ");
}
