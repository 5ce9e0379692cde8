/** Reading a list of the management API with its pages. */

import { useRef, useState } from "preact/hooks";
import { api } from "../app/api";
import { useLoad, type Loaded } from "../parts/loaded";

export const MANAGE = "/manage/v1";

export interface Listing<T> {
  readonly items: readonly T[];
  readonly next: string | null;
  /** The name of the gateway that answered, if the list has things that only this gateway of the cluster knows. */
  readonly gateway?: string | null;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface Part {
  /** Where the entries begin; without it, at the beginning of the list. */
  readonly after?: string | null;
  readonly most?: () => number;
  readonly signal?: AbortSignal;
}

const PAGE = 200;
/** A longer list is read on only when the person asks for more. */
export const MOST = 1_000;
/** At most this number of shown entries is read again when the list is refreshed. */
const MOST_AGAIN = 10_000;

/** Read pages of a list until its end, but not many more entries than `most`: `next` says where more begin. */
export async function readList<T>(path: string, query: Query = {}, { after = null, most = () => MOST, signal }: Part = {}): Promise<Listing<T>> {
  const items: T[] = [];
  let next = after;
  let gateway: string | null = null;
  do {
    const page: Listing<T> = await api.get<Listing<T>>(MANAGE + path, { query: { limit: PAGE, ...query, after: next ?? undefined }, ...(signal ? { signal } : {}) });
    items.push(...page.items);
    next = page.next;
    gateway = page.gateway ?? null;
  } while (next && items.length < most());
  return { items, next, gateway };
}

/** Read a whole list, also if it is long. */
export async function readAll<T>(path: string): Promise<readonly T[]> {
  return (await readList<T>(path, {}, { most: () => Infinity })).items;
}

export interface LoadedList<T> extends Loaded<readonly T[]> {
  /** Loads the entries after the shown ones; null at the end of the list. */
  readonly more: (() => Promise<void>) | null;
  /** See `Listing`. */
  readonly gateway: string | null;
}

/** A list of the management API. If it is read again, it has as many entries as were shown before. */
export function useList<T>(path: string, query: Query = {}): LoadedList<T> {
  const key = `${path}?${JSON.stringify(query)}`;
  const wanted = useRef({ key, entries: MOST });
  if (wanted.current.key !== key) wanted.current = { key, entries: MOST };
  const read = useLoad(key, (signal) => readList<T>(path, query, { most: () => wanted.current.entries, signal }));
  /** The entries of `from` and those after them. */
  const [longer, setLonger] = useState<{ readonly from: Listing<T>; readonly list: Listing<T> } | null>(null);
  const from = read.data;
  const shown = longer?.from === from ? longer?.list : from;
  const more = async (): Promise<void> => {
    if (!from || !shown) return;
    // A refresh that runs at the same time reads these entries, too.
    wanted.current.entries = Math.min(shown.items.length + MOST, MOST_AGAIN);
    const { items, next } = await readList<T>(path, query, { after: shown.next });
    setLonger({ from, list: { items: [...shown.items, ...items], next } });
  };
  return { ...read, data: shown?.items ?? null, more: shown?.next ? more : null, gateway: shown?.gateway ?? null };
}
