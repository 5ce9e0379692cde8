/** A chart over time. uPlot draws it; a table with the same numbers is there for screen readers. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { formatNumber, formatTime, language, t } from "../app/i18n";
import { OWN_ZONE } from "../app/local_time";
import { colour, scheme } from "../app/theme";
import { selectWithFinger, ZoomButtons } from "./chart_zoom";
import { isSame, shownPart, wholeOf, type Part, type Span } from "./zoom";

export interface Line {
  readonly label: string;
  /** A colour token of the style sheet. */
  readonly token: "accent" | "warm" | "alarm" | "soft";
  readonly values: readonly (number | null)[];
  /** Bars from zero, for sums such as energy. */
  readonly bars?: boolean;
}

export interface ChartProps {
  readonly label: string;
  readonly unit: string;
  readonly times: readonly Date[];
  readonly lines: readonly Line[];
  readonly height: number;
  /** The IANA name of the time zone of all shown times; by default that of the browser. */
  readonly zone?: string;
  /** The words of a time on the axis; by default the time of today, or date and time. */
  readonly tick?: (at: Date) => string;
  /** Zoom with buttons and with a finger, not only with a mouse. */
  readonly zoom?: boolean;
  /** The last values come while the chart is shown. Then a zoomed part stays where it is. */
  readonly goesOn?: boolean;
}

export function Chart({ label, unit, times, lines, height, zone = OWN_ZONE, tick, zoom = false, goesOn = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const now = new Date();
  const drawnFor = `${scheme.value} ${language.value}`;
  const values = data(times, lines);
  const whole = wholeOf(values[0] as number[], lines.some((line) => line.bars));
  const hasZoom = zoom && times.length > 2;
  const [part, setPart] = useState<Part | null>(null);
  const shown = shownPart(part, whole, goesOn);
  const show = ([min, max]: Span): void => drawn.current?.setScale("x", { min, max });
  // Drawn together with the table, so that both always have the same numbers.
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const keep = ({ scales }: uPlot, scale: string): void => {
      const { min, max } = scales[scale] ?? {};
      if (scale === "x" && typeof min === "number" && typeof max === "number") setPart({ of: whole, shown: [min, max] });
    };
    const plot = new uPlot({ ...options(element.clientWidth, height, unit, times, lines, zone, tick), hooks: { setScale: [keep] } }, values, element);
    drawn.current = plot;
    if (!isSame(shown, whole)) show(shown);
    if (hasZoom) selectWithFinger(plot, show);
    const resizing = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resizing.observe(element);
    return () => {
      resizing.disconnect();
      plot.destroy();
    };
  }, [times, lines, height, unit, zone, drawnFor]);
  return (
    <figure class="chart">
      <div ref={place} aria-hidden="true" />
      {hasZoom && <ZoomButtons label={label} shown={shown} whole={whole} values={times.length} words={(at) => formatTime(new Date(at * 1000), now, zone)} show={show} />}
      <figcaption class="hidden">
        <table>
          <caption>{label}</caption>
          <tbody>
            {times.map((at, index) => (
              <tr key={at.getTime()}>
                <th scope="row">{formatTime(at, now, zone)}</th>
                {lines.map((line) => (
                  <td key={line.label}>{text(line.values[index], unit)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </figcaption>
    </figure>
  );
}

/** Half of the last label of the axis of time is to the right of the chart, in pixels. */
const LAST_LABEL = 28;

function text(value: number | null | undefined, unit: string): string {
  return value === null || value === undefined ? "" : `${formatNumber(value, { maximumFractionDigits: 2 })} ${unit}`;
}

function data(times: readonly Date[], lines: readonly Line[]): uPlot.AlignedData {
  return [times.map((at) => at.getTime() / 1000), ...lines.map((line) => [...line.values])];
}

function bars(): Partial<uPlot.Series> {
  return { fill: colour("accent"), points: { show: false }, ...(uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 48], align: 1 }) } : {}) };
}

/** Another line in a chart of bars: it has a step for each bar. */
function steps(): Partial<uPlot.Series> {
  return { points: { show: false }, ...(uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}) };
}

/** Bars begin at zero, and the last one is as wide as the others. */
function barScales(times: readonly Date[]): uPlot.Scales {
  const seconds = times.map((at) => at.getTime() / 1000);
  const [, end] = wholeOf(seconds, true);
  return {
    x: { range: (_plot, min, max) => [min, max === seconds.at(-1) ? end : max] },
    y: { range: (_plot, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : 1] },
  };
}

/** A value without neighbours has no line. It is drawn as a point, also where points would be too dense. */
function withoutNeighbours(plot: uPlot, series: number, all: boolean): number[] | null {
  const values = plot.data[series] ?? [];
  const isMissing = (index: number): boolean => values[index] === null || values[index] === undefined;
  return all ? null : Array.from(values.keys()).filter((index) => !isMissing(index) && isMissing(index - 1) && isMissing(index + 1));
}

/** A short period has several ticks in one minute: only the first of them has words. */
function withoutRepeats(words: readonly string[]): string[] {
  return words.map((one, index) => (one === words[index - 1] ? "" : one));
}

function options(width: number, height: number, unit: string, times: readonly Date[], lines: readonly Line[], zone: string, tick: ChartProps["tick"]): uPlot.Options {
  const words = (at: number): string => formatTime(new Date(at * 1000), new Date(), zone);
  const hasBars = lines.some((line) => line.bars);
  const axis: uPlot.Axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone),
    padding: [null, LAST_LABEL, null, null],
    cursor: { drag: { x: true, y: false } },
    legend: { markers: { fill: (_plot, index) => colour(lines[index - 1]?.token ?? "soft") } },
    ...(hasBars ? { scales: barScales(times) } : {}),
    series: [
      { label: t("common.time"), value: (_plot, at) => (at === null ? "" : words(at)) },
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(line.token),
        width: 2,
        value: (_plot: uPlot, value: number | null) => text(value, unit),
        ...(line.bars ? bars() : hasBars ? steps() : { points: { filter: withoutNeighbours } }),
      })),
    ],
    axes: [
      { ...axis, space: 80, values: (_plot, at) => withoutRepeats(at.map((one) => (tick ? tick(new Date(one * 1000)) : words(one)))) },
      { ...axis, size: 60, values: (_plot, values) => values.map((value) => formatNumber(value)) },
    ],
  };
}
