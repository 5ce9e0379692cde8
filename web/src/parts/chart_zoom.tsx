/** Zoom of a chart with buttons and with a finger. uPlot itself does it only with a mouse. */

import type uPlot from "uplot";
import { t } from "../app/i18n";
import { Button, IconButton } from "./button";
import { isSame, move, narrowestOf, resize, type Span } from "./zoom";

interface ZoomButtonsProps {
  readonly label: string;
  readonly shown: Span;
  readonly whole: Span;
  /** The number of values in the whole. */
  readonly values: number;
  readonly words: (at: number) => string;
  readonly show: (span: Span) => void;
}

export function ZoomButtons({ label, shown, whole, values, words, show }: ZoomButtonsProps) {
  const narrowest = narrowestOf(whole, values);
  const isWhole = isSame(shown, whole);
  return (
    <div class="chart-zoom" role="group" aria-label={t("chart.zoom", { chart: label })}>
      <IconButton icon="left" label={t("chart.back")} disabled={shown[0] <= whole[0]} onClick={() => show(move(shown, -0.5, whole))} />
      <IconButton icon="minus" label={t("chart.zoom_out")} disabled={isWhole} onClick={() => show(resize(shown, 2, whole, narrowest))} />
      <IconButton icon="add" label={t("chart.zoom_in")} disabled={shown[1] - shown[0] <= narrowest} onClick={() => show(resize(shown, 0.5, whole, narrowest))} />
      <IconButton icon="right" label={t("chart.forward")} disabled={shown[1] >= whole[1]} onClick={() => show(move(shown, 0.5, whole))} />
      <Button look="quiet" disabled={isWhole} onClick={() => show(whole)}>
        {t("chart.all")}
      </Button>
      <span class="hidden" role="status">
        {isWhole ? "" : t("chart.shown", { from: words(shown[0]), until: words(shown[1]) })}
      </span>
    </div>
  );
}

/** In pixels. A shorter movement is a tap. */
const LEAST_MOVEMENT = 12;

/** A finger that moves sideways selects a part, like a mouse. The browser cancels the pointer when the finger scrolls the page. */
export function selectWithFinger(plot: uPlot, show: (span: Span) => void): void {
  const area = plot.over;
  area.style.touchAction = "pan-y pinch-zoom";
  let start: number | null = null;
  const part = (event: PointerEvent): readonly [left: number, right: number] => {
    const { left, width } = area.getBoundingClientRect();
    const ends = [start ?? 0, event.clientX].map((x) => Math.min(Math.max(x - left, 0), width));
    return [Math.min(...ends), Math.max(...ends)];
  };
  const end = (): void => {
    start = null;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" && event.isPrimary) start = event.clientX;
  });
  area.addEventListener("pointermove", (event) => {
    if (start === null || !event.isPrimary) return;
    const [left, right] = part(event);
    plot.setSelect({ left, top: 0, width: right - left, height: area.clientHeight }, false);
  });
  area.addEventListener("pointerup", (event) => {
    if (start === null || !event.isPrimary) return;
    const [left, right] = part(event);
    if (right - left >= LEAST_MOVEMENT) show([plot.posToVal(left, "x"), plot.posToVal(right, "x")]);
    end();
  });
  area.addEventListener("pointercancel", end);
}
