/** The value of a `datetime-local` field is in the time zone of the browser. The API takes and gives instants. */

export function toInstant(local: string): string | null {
  return local ? new Date(local).toISOString() : null;
}

export function toLocal(instant: string | null | undefined): string {
  if (!instant) return "";
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
