/**
 * Times on the clocks of a time zone. The value of a `datetime-local` field has no time zone: it is in the given zone or, without one, in
 * the zone of the browser. The API takes and gives instants.
 */

export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const DAY = 86_400_000;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** To make a format costs much more than to use it. */
function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known) return known;
  const clock = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
  clocks.set(zone, clock);
  return clock;
}

/** How far the clocks of the zone are before UTC at this time, in milliseconds. */
function offsetOf(zone: string, at: number): number {
  const part = Object.fromEntries(clockOf(zone).formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(part.year ?? 0, (part.month ?? 1) - 1, part.day, part.hour, part.minute, part.second) - Math.floor(at / 1000) * 1000;
}

/** What the clocks of the zone show at this time, in the UTC fields of a date. */
export function clockTime(at: Date, zone: string): Date {
  return new Date(at.getTime() + offsetOf(zone, at.getTime()));
}

/**
 * When the clocks of the zone show this time. If they show it twice, it is the first time. A time that they skip becomes later by as much
 * as they skip: a midnight that does not exist becomes the time at which the day begins.
 */
export function instantOf(shown: number, zone: string): Date {
  const [before, after] = [offsetOf(zone, shown - DAY), offsetOf(zone, shown + DAY)];
  const isAfter = offsetOf(zone, shown - before) !== before && offsetOf(zone, shown - after) === after;
  return new Date(shown - (isAfter ? after : before));
}

export function toInstant(local: string, zone: string = OWN_ZONE): string | null {
  const shown = local ? Date.parse(`${local}Z`) : NaN;
  return Number.isNaN(shown) ? null : instantOf(shown, zone).toISOString();
}

export function toLocal(instant: string | null | undefined, zone: string = OWN_ZONE): string {
  return instant ? clockTime(new Date(instant), zone).toISOString().slice(0, 16) : "";
}

/** ISO 8601 with the offset of the zone: `2026-10-24T08:00:00+02:00`. */
export function toOffsetTime(at: Date, zone: string): string {
  const offset = Math.round(offsetOf(zone, at.getTime()) / 60_000);
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((part) => String(part).padStart(2, "0"));
  return `${clockTime(at, zone).toISOString().slice(0, 19)}${offset < 0 ? "-" : "+"}${hours}:${minutes}`;
}

/** The zone, if this browser knows it. Otherwise undefined. */
export function knownZone(zone: string | null): string | undefined {
  try {
    return zone && clockOf(zone) ? zone : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the clocks of the zone differ from those of the browser, in winter or in summer. */
export function differsHere(zone: string, year: number = new Date().getFullYear()): boolean {
  return [0, 6].some((month) => offsetOf(zone, Date.UTC(year, month, 15)) !== offsetOf(OWN_ZONE, Date.UTC(year, month, 15)));
}
