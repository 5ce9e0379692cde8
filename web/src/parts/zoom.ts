/** The part of a chart that is shown. All times are in seconds. */

export type Span = readonly [from: number, until: number];

const widthOf = ([from, until]: Span): number => until - from;

/** The same width, or less if the whole is shorter, between the ends of the whole. */
function inside(whole: Span, [from, until]: Span): Span {
  const width = until - from;
  if (width >= widthOf(whole)) return whole;
  if (from < whole[0]) return [whole[0], whole[0] + width];
  return until > whole[1] ? [whole[1] - width, whole[1]] : [from, until];
}

/** A part that is `factor` times as wide, with the same middle where the whole allows it. */
export function resize(shown: Span, factor: number, whole: Span, narrowest: number): Span {
  const half = Math.max(widthOf(shown) * factor, narrowest) / 2;
  const middle = (shown[0] + shown[1]) / 2;
  return inside(whole, [middle - half, middle + half]);
}

/** A part that begins later by `share` of its width; a negative share moves it to an earlier time. */
export function move(shown: Span, share: number, whole: Span): Span {
  const by = widthOf(shown) * share;
  return inside(whole, [shown[0] + by, shown[1] + by]);
}

/** The times of all values. A bar needs the time until the next bar. */
export function wholeOf(times: readonly number[], hasBars: boolean): Span {
  const [before = 0, last = 0] = times.slice(-2);
  return [times[0] ?? 0, hasBars ? last + (last - before) : last];
}

/** A part shows at least two values. */
export function narrowestOf(whole: Span, values: number): number {
  return (widthOf(whole) / Math.max(values, 2)) * 2;
}

/** The part of a chart that a person chose, and the whole of which it is a part. */
export interface Part {
  readonly of: Span;
  readonly shown: Span;
}

/**
 * The part that is shown after the values were loaded again. Values of the same period keep the zoom. Another period is shown whole, but if
 * the period only goes on, a part stays at its times.
 */
export function shownPart(part: Part | null, whole: Span, goesOn: boolean): Span {
  if (!part || isSame(part.shown, part.of)) return whole;
  if (isSame(part.of, whole)) return part.shown;
  return goesOn ? inside(whole, part.shown) : whole;
}

export const isSame = (one: Span, other: Span): boolean => one[0] === other[0] && one[1] === other[1];
