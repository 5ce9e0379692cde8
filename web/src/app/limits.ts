/** What a guest may use, and when, as both APIs write it. Without places: everything. */

export interface Limits {
  readonly floors: readonly string[];
  readonly ambients: readonly string[];
  readonly modules: readonly string[];
  readonly validFrom: string | null;
  readonly validUntil: string | null;
}
