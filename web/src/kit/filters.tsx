/** Search and filters above a list. */

import { count, t } from "../app/i18n";
import { query, setQuery } from "../app/router";
import { Select } from "../parts/field";

export interface Filter<T> {
  /** The chosen value is in the query of the address under this name, so that a link can choose it. */
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [string, string])[];
  /** Whether to show the row. Without it, the page asks the API only for rows with the chosen value. */
  readonly holds?: (row: T, chosen: string) => boolean;
}

interface FiltersProps<T> {
  /** What is searched. */
  readonly label: string;
  readonly words: string;
  readonly onWords: (words: string) => void;
  readonly filters: readonly Filter<T>[];
  /** How many rows are shown; null while they are loaded. */
  readonly found: number | null;
}

export function Filters<T>({ label, words, onWords, filters, found }: FiltersProps<T>) {
  return (
    <div class="table-tools">
      <input type="search" class="search" aria-label={`${label}: ${t("common.search")}`} placeholder={t("common.search")} value={words} onInput={(event) => onWords(event.currentTarget.value)} />
      {filters.map(({ name, label: title, options }) => (
        <Select key={name} label={title} value={query.value.get(name) ?? ""} options={[["", t("common.all")], ...options]} onChange={(value) => setQuery(name, value)} />
      ))}
      <p class="soft" role="status">
        {found !== null && count("common.entries", found)}
      </p>
    </div>
  );
}

/** The rows that all filters let through and that have the words in one of their texts. */
export function find<T>(rows: readonly T[], filters: readonly Filter<T>[], words: string, texts: (row: T) => readonly (string | number | null)[]): readonly T[] {
  const chosen = filters.flatMap(({ name, holds }) => {
    const value = query.value.get(name);
    return value && holds ? [(row: T) => holds(row, value)] : [];
  });
  const wanted = words.trim().toLocaleLowerCase();
  const has = (row: T): boolean => !wanted || texts(row).some((text) => String(text ?? "").toLocaleLowerCase().includes(wanted));
  return rows.filter((row) => chosen.every((holds) => holds(row)) && has(row));
}
