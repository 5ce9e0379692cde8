/** Periods of whole days, in the browser's time zone. */

import { t } from "../app/i18n";
import { instantOf, OWN_ZONE, toLocal } from "../app/local_time";
import { text, type FormField, type Values } from "../kit/form";

interface Period {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The fields of the first and the last day. The hint says when the period begins without a first day. */
export function dayFields(sinceHint: string): readonly FormField[] {
  return [
    { kind: "text", name: "since", label: t("console.days.first"), hint: sinceHint, type: "date" },
    { kind: "text", name: "until", label: t("console.days.last"), hint: t("console.days.last_about"), type: "date" },
  ];
}

/** The period of the fields, as the API takes it: its end is the start of the next day. */
export function periodOf(values: Values): Period {
  const [first, last] = [text(values, "since"), text(values, "until")];
  return { since: first ? midnight(first) : undefined, until: last ? midnight(last, 1) : undefined };
}

export const DAYS = ["today", "yesterday", "week"] as const;

/** The period of one of `DAYS`; for another word it is empty. A week ends now and has seven days. */
export function periodOfDay(word: string): Period {
  const today = toLocal(new Date().toISOString()).slice(0, 10);
  switch (word) {
    case "today":
      return { since: midnight(today), until: undefined };
    case "yesterday":
      return { since: midnight(today, -1), until: midnight(today) };
    case "week":
      return { since: midnight(today, -6), until: undefined };
    default:
      return {};
  }
}

/** When this day begins, or the day that is so many days later. */
function midnight(day: string, later = 0): string {
  const shown = new Date(`${day}T00:00Z`);
  shown.setUTCDate(shown.getUTCDate() + later);
  return instantOf(shown.getTime(), OWN_ZONE).toISOString();
}
