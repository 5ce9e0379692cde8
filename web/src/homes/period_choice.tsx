/** Choose a day, week, month or year. */

import { useState } from "preact/hooks";
import { t } from "../app/i18n";
import { IconButton } from "../parts/button";
import { periodOf, periodWords, RANGES, type Period, type Range } from "./period";

export interface Choice {
  readonly range: Range;
  readonly back: number;
}

/** The choice, with the period and the one before it. */
export function useChoice(): { choice: Choice; choose: (choice: Choice) => void; period: Period; before: Period } {
  const [choice, choose] = useState<Choice>({ range: "day", back: 0 });
  const { range, back } = choice;
  return { choice, choose, period: periodOf(range, back), before: periodOf(range, back + 1) };
}

export function PeriodChoice({ choice, period, choose }: { choice: Choice; period: Period; choose: (choice: Choice) => void }) {
  const { range, back } = choice;
  return (
    <div class="period-choice">
      <div class="segments" role="group" aria-label={t("homes.period.title")}>
        {RANGES.map((one) => (
          <button key={one} type="button" aria-pressed={one === range} onClick={() => choose({ range: one, back: 0 })}>
            {t(`homes.period.${one}`)}
          </button>
        ))}
      </div>
      <div class="period-steps">
        <IconButton icon="left" label={t("homes.period.earlier")} onClick={() => choose({ range, back: back + 1 })} />
        <strong aria-live="polite">{periodWords(period)}</strong>
        <IconButton icon="right" label={t("homes.period.later")} disabled={back === 0} onClick={() => choose({ range, back: back - 1 })} />
      </div>
    </div>
  );
}
