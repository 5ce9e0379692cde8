/** A chart of one period, beside the period before it. */

import { useMemo } from "preact/hooks";
import { t } from "../app/i18n";
import { LazyChart } from "../parts/lazy_chart";
import { stepsOf, tickWords, type Period } from "./period";
import { valuesOf, type PeriodReading } from "./readings";

const UNITS: Readonly<Record<string, string>> = { energy: "kWh", power: "W", temperature: "°C", humidity: "%" };
export const MEASURES = Object.keys(UNITS);

interface PeriodChartProps {
  readonly measure: string;
  readonly period: Period;
  readonly before: Period;
  readonly readings: readonly PeriodReading[];
  readonly readingsBefore: readonly PeriodReading[];
}

export function PeriodChart({ measure, period, before, readings, readingsBefore }: PeriodChartProps) {
  const bars = measure === "energy";
  const { times, lines } = useMemo(() => {
    const steps = stepsOf(period);
    const former = valuesOf(measure, readingsBefore, before);
    return {
      times: steps,
      lines: [
        { label: t("homes.period.this"), token: "accent" as const, values: valuesOf(measure, readings, period), bars },
        { label: t("homes.period.before"), token: "soft" as const, values: steps.map((_, index) => former[index] ?? null) },
      ],
    };
    // The readings change whenever the period or the measure does.
  }, [readings, readingsBefore]);
  const label = t(`homes.measure.${measure}`);
  return (
    <section class="period-chart" aria-label={label}>
      <p class="chart-title">{`${label} (${UNITS[measure]})`}</p>
      <LazyChart label={label} unit={UNITS[measure] ?? ""} times={times} lines={lines} zone={period.zone} tick={(at) => tickWords(period, at)} zoom />
    </section>
  );
}
