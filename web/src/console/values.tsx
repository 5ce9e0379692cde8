/** Words for values of the management API. */

import { hasText, t } from "../app/i18n";
import type { Absence } from "./model";

/** A tag with the words for a value of the API: `console.GROUP.VALUE`, or the value itself. */
export function Tag({ group, value, kind = "" }: { group: string; value: string; kind?: "" | "warn" | "alarm" }) {
  return <span class={`tag ${kind}`}>{valueWords(group, value)}</span>;
}

/** The text `console.GROUP.VALUE`. Without such a text: the text of the API in English, or the value itself. */
export function valueWords(group: string, value: string, english = value, values: Readonly<Record<string, string>> = {}): string {
  const key = `console.${group}.${value.replaceAll(" ", "_")}`;
  return hasText(key) ? t(key, values) : english;
}

/** What the driver observed. Texts of other programs, for example of a broker, stay as they are. */
export function evidenceWords({ code, evidence, values }: Absence): string {
  return valueWords("evidence", code, evidence, values);
}
