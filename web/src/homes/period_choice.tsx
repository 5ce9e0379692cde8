/** Choose a day, week, month or year. */

import { useEffect, useState } from "preact/hooks";
import { t } from "../app/i18n";
import { IconButton } from "../parts/button";
import { useLoad, type Loaded } from "../parts/loaded";
import { periodOf, periodWords, RANGES, type Period, type Range } from "./period";
import { ZoneHint } from "./zone";

export interface Choice {
  readonly range: Range;
  readonly back: number;
}

/** The present period is loaded again after this time, and when the day changes. */
const EVERY = 300_000;
const LOOK_EVERY = 10_000;

/** The time to which `back` counts. It does not change while an earlier period is shown. */
function usePresent(shown: boolean, zone: string): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    if (!shown) return;
    const look = (): void => {
      const time = new Date();
      const old = time.getTime() - now.getTime() >= EVERY || time >= periodOf("day", zone, 0, now).until;
      if (old && document.visibilityState === "visible") setNow(time);
    };
    look();
    const timer = setInterval(look, LOOK_EVERY);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [now, shown, zone]);
  return now;
}

interface Periods {
  readonly period: Period;
  readonly before: Period;
}

interface LoadedPeriod<T> {
  readonly choice: Choice;
  readonly choose: (choice: Choice) => void;
  readonly period: Period;
  readonly loaded: Loaded<T & Periods>;
}

/** Lets the person choose a period of the time zone, and loads data of it and of the one before. */
export function usePeriod<T>(key: string, zone: string, load: (periods: Periods, signal: AbortSignal) => Promise<T>): LoadedPeriod<T> {
  const [choice, choose] = useState<Choice>({ range: "day", back: 0 });
  const { range, back } = choice;
  const now = usePresent(back === 0, zone);
  const periods = { period: periodOf(range, zone, back, now), before: periodOf(range, zone, back + 1, now) };
  const loaded = useLoad(key, async (signal) => ({ ...(await load(periods, signal)), ...periods }), [choice, now, zone]);
  // While a period is loaded, the former one stays. If that fails, it would be shown under a wrong name.
  const other = loaded.data?.period.since.getTime() !== periods.period.since.getTime() || loaded.data.period.range !== range;
  return { choice, choose, period: periods.period, loaded: loaded.problem && other ? { ...loaded, data: null } : loaded };
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
      <ZoneHint zone={period.zone} />
    </div>
  );
}
