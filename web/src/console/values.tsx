/** Words for values of the management API. */

import { hasText, t } from "../app/i18n";

/** A tag with the words for a value of the API: `console.GROUP.VALUE`, or the value itself. */
export function Tag({ group, value, kind = "" }: { group: string; value: string; kind?: "" | "warn" | "alarm" }) {
  return <span class={`tag ${kind}`}>{valueWords(group, value)}</span>;
}

export function valueWords(group: string, value: string): string {
  const key = `console.${group}.${value.replaceAll(" ", "_")}`;
  return hasText(key) ? t(key) : value;
}
