/**
 * The value of a `datetime-local` field has no time zone: it is in the given zone or, without one, in the zone of the browser. The API
 * takes and gives instants.
 */

export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** How far the clocks of the zone are before UTC at this time, in milliseconds. */
function offsetOf(zone: string, at: number): number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(part.year ?? 0, (part.month ?? 1) - 1, part.day, part.hour, part.minute, part.second) - Math.floor(at / 1000) * 1000;
}

export function toInstant(local: string, zone: string = OWN_ZONE): string | null {
  const wanted = local ? Date.parse(`${local}Z`) : NaN;
  if (Number.isNaN(wanted)) return null;
  // The offset is that of the instant, which is known only after subtracting it. The second try is right on the day of a change, too.
  const near = wanted - offsetOf(zone, wanted);
  return new Date(wanted - offsetOf(zone, near)).toISOString();
}

export function toLocal(instant: string | null | undefined, zone: string = OWN_ZONE): string {
  if (!instant) return "";
  const at = Date.parse(instant);
  return new Date(at + offsetOf(zone, at)).toISOString().slice(0, 16);
}

/** The zone, if this browser knows it. Otherwise undefined. */
export function knownZone(zone: string | null): string | undefined {
  try {
    return zone ? new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the clocks of the zone differ from those of the browser, in winter or in summer. */
export function differsHere(zone: string, year: number = new Date().getFullYear()): boolean {
  return [0, 6].some((month) => offsetOf(zone, Date.UTC(year, month, 15)) !== offsetOf(OWN_ZONE, Date.UTC(year, month, 15)));
}
