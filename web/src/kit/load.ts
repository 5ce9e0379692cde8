/** Reading a list of the management API with its pages. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { useLoad, type Loaded } from "../parts/loaded";

export const MANAGE = "/manage/v1";

export interface Listing<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const PAGE = 200;
/** A longer list is read on only when the person asks for more. */
export const MOST = 1_000;

/** Read pages of a list until its end, but at most 1,000 entries: `next` says where more begin. */
export async function readList<T>(path: string, query: Query = {}, after: string | null = null): Promise<Listing<T>> {
  const items: T[] = [];
  let next = after;
  do {
    const page: Listing<T> = await api.get<Listing<T>>(MANAGE + path, { query: { limit: PAGE, ...query, after: next ?? undefined } });
    items.push(...page.items);
    next = page.next;
  } while (next && items.length < MOST);
  return { items, next };
}

/** Read a whole list, also if it is long. */
export async function readAll<T>(path: string): Promise<readonly T[]> {
  const items: T[] = [];
  let next: string | null = null;
  do {
    const part: Listing<T> = await readList<T>(path, {}, next);
    items.push(...part.items);
    next = part.next;
  } while (next);
  return items;
}

export interface LoadedList<T> extends Loaded<readonly T[]> {
  /** Loads the entries after the shown ones; null at the end of the list. */
  readonly more: (() => Promise<void>) | null;
}

/** A list of the management API. */
export function useList<T>(path: string, query: Query = {}): LoadedList<T> {
  const [later, setLater] = useState<Listing<T> | null>(null);
  const key = `${path}?${JSON.stringify(query)}`;
  const first = useLoad(key, async () => {
    setLater(null);
    return readList<T>(path, query);
  });
  const next = later ? later.next : (first.data?.next ?? null);
  const data = first.data && (later ? [...first.data.items, ...later.items] : first.data.items);
  const more = async (): Promise<void> => {
    const found = await readList<T>(path, query, next);
    setLater((before) => ({ items: [...(before?.items ?? []), ...found.items], next: found.next }));
  };
  return { ...first, data, more: next ? more : null };
}
