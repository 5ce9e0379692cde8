/** A table with declared columns: search, filters, sorting, and links to details. Where the window is too narrow, each row is a card. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../app/i18n";
import { query, setQuery } from "../app/router";
import { Button } from "../parts/button";
import { Icon } from "../parts/icons";
import { Problem, type Loaded } from "../parts/loaded";
import { Empty, Loading } from "../parts/notice";
import { Filters, find, type Filter } from "./filters";
import type { LoadedList } from "./load";
import { useMedia } from "./media";

export interface Column<T> {
  readonly title: string;
  /** The text or number that is searched, sorted and, without `cell`, shown. */
  readonly value: (row: T) => string | number | null;
  readonly cell?: (row: T) => ComponentChildren;
}

interface TableProps<T> {
  readonly label: string;
  /** The rows: null while they are loaded. `more` loads the rows after them. */
  readonly list: Pick<Loaded<readonly T[]>, "data"> & Partial<LoadedList<T>>;
  readonly columns: readonly Column<T>[];
  readonly id: (row: T) => string;
  readonly href?: (row: T) => string;
  readonly filters?: readonly Filter<T>[];
  readonly actions?: (row: T) => ComponentChildren;
  readonly empty: string;
  /** Whether to offer a search, also for a short list. With a name, the words are in the query of the address, and the API searches. */
  readonly search?: boolean | string;
  /** Whether the first column sorts the rows at first. Otherwise they have the order of the API. */
  readonly sorted?: boolean;
}

interface Order {
  readonly column: number;
  readonly down: boolean;
}

/** A table with this number of columns needs the window of a desktop. */
const MANY_COLUMNS = 6;
const SEARCH_FROM = 8;
/** The API searches when the person stops typing for this time. */
const PAUSE = 300;

export function Table<T>({ label, list, columns, id, href, filters = [], actions, empty, search = false, sorted = false }: TableProps<T>) {
  const searched = typeof search === "string" ? search : "";
  const [words, setWords] = useState(searched ? (query.value.get(searched) ?? "") : "");
  useEffect(() => {
    if (!searched) return;
    const timer = setTimeout(() => setQuery(searched, words.trim()), PAUSE);
    return () => clearTimeout(timer);
  }, [searched, words]);
  const [order, setOrder] = useState<Order | null>(sorted ? { column: 0, down: false } : null);
  const cards = useMedia(`(max-width: ${columns.length + (actions ? 1 : 0) >= MANY_COLUMNS ? 62 : 45}rem)`);
  const all = list.data ?? [];
  const found = find(all, filters, searched ? "" : words, (row) => columns.map(({ value }) => value(row)));
  const rows = sort(found, columns, order);
  const tools = all.length >= SEARCH_FROM || Boolean(search) || filters.length > 0;
  return (
    <div class="table-box">
      <Problem of={list} />
      {tools && <Filters label={label} words={words} onWords={setWords} filters={filters} found={list.data && rows.length} />}
      {!list.data ? (
        !list.problem && <Loading />
      ) : rows.length ? (
        <table class={cards ? "table row-cards" : "table"} role="table" aria-label={label}>
          <thead role="rowgroup">
            <tr role="row">
              {columns.map(({ title }, index) => (
                <Heading key={title} title={title} sorted={order?.column === index ? order : null} onSort={() => setOrder({ column: index, down: order?.column === index && !order.down })} />
              ))}
              {actions && (
                <th role="columnheader" scope="col">
                  <span class="hidden">{t("common.actions")}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {rows.map((row) => (
              <tr key={id(row)} role="row">
                {columns.map((column, index) => (
                  <td key={column.title} role="cell" data-label={column.title}>
                    <span class="cell">{href && index === 0 ? <a href={href(row)}>{show(column, row)}</a> : show(column, row)}</span>
                  </td>
                ))}
                {actions && (
                  <td role="cell" class="row-actions">
                    {actions(row)}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <Empty title={all.length ? t("common.nothing_found") : empty} />
      )}
      {list.more && (
        <div class="buttons">
          <Button onClick={list.more}>{t("common.more")}</Button>
        </div>
      )}
    </div>
  );
}

function Heading({ title, sorted, onSort }: { title: string; sorted: Order | null; onSort: () => void }) {
  return (
    <th role="columnheader" scope="col" aria-sort={sorted ? (sorted.down ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={onSort}>
        {title}
        {sorted && <Icon name={sorted.down ? "down" : "up"} />}
      </button>
    </th>
  );
}

function show<T>(column: Column<T>, row: T): ComponentChildren {
  if (column.cell) return column.cell(row);
  const value = column.value(row);
  return value === null || value === "" ? "–" : value;
}

function sort<T>(rows: readonly T[], columns: readonly Column<T>[], order: Order | null): readonly T[] {
  const by = order && columns[order.column];
  if (!by) return rows;
  const sign = order.down ? -1 : 1;
  return [...rows].sort((one, other) => sign * compare(by.value(one), by.value(other)));
}

function compare(one: string | number | null, other: string | number | null): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one ?? "").localeCompare(String(other ?? ""), undefined, { numeric: true });
}
