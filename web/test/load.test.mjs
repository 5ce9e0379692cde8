import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { api } from "../src/app/api";
import { readAll, readList } from "../src/kit/load";

test("a whole list is read to its end, and a shown list only to its first 1,000 entries", async () => {
  const all = Array.from({ length: 2_350 }, (_, number) => number);
  api.get = async (path, { query: { limit, after } }) => {
    assert.equal(path, "/manage/v1/plants/1/modules");
    const from = Number(after ?? 0);
    const next = from + limit;
    return { items: all.slice(from, next), next: next < all.length ? String(next) : null };
  };
  assert.deepEqual(await readAll("/plants/1/modules"), all);
  const { items, next } = await readList("/plants/1/modules");
  assert.deepEqual([items.length, next], [1_000, "1000"]);
});
