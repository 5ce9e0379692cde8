import assert from "node:assert/strict";
import { test } from "node:test";
import { isSame, move, narrowestOf, resize, shownPart, wholeOf } from "../src/parts/zoom";

const WHOLE = [100, 124];

test("a part that is zoomed in and out has the same middle", () => {
  const half = resize(WHOLE, 0.5, WHOLE, 2);
  assert.deepEqual(half, [106, 118]);
  assert.deepEqual(resize(half, 0.5, WHOLE, 2), [109, 115]);
  assert.deepEqual(resize(half, 2, WHOLE, 2), WHOLE);
});

test("a part is never wider than the whole, nor narrower than two values", () => {
  assert.deepEqual(resize([100, 120], 2, WHOLE, 2), WHOLE);
  assert.deepEqual(resize([110, 113], 0.5, WHOLE, 2), [110.5, 112.5]);
  assert.deepEqual(resize([110, 110.5], 2, WHOLE, 2), [109.25, 111.25]);
});

test("a part at an end of the whole stays inside when it is zoomed out", () => {
  assert.deepEqual(resize([100, 104], 2, WHOLE, 2), [100, 108]);
  assert.deepEqual(resize([121, 124], 2, WHOLE, 2), [118, 124]);
});

test("a part moves by a share of its width, and stops at the ends", () => {
  assert.deepEqual(move([106, 118], 0.5, WHOLE), [112, 124]);
  assert.deepEqual(move([112, 124], 0.5, WHOLE), [112, 124]);
  assert.deepEqual(move([102, 108], -0.5, WHOLE), [100, 106]);
  assert.deepEqual(move(WHOLE, -0.5, WHOLE), WHOLE);
});

test("zooming out many times ends at exactly the whole", () => {
  const whole = wholeOf([1_794_956_400, 1_794_960_000, 1_794_963_600.3], true);
  let shown = [whole[0] + 1234.567, whole[0] + 1300.1];
  for (let times = 0; times < 12; times += 1) shown = resize(move(shown, 0.3, whole), 2, whole, 1);
  assert.ok(isSame(shown, whole));
});

test("the whole has the last bar, and the end of a line is its last value", () => {
  assert.deepEqual(wholeOf([0, 10, 20], true), [0, 30]);
  assert.deepEqual(wholeOf([0, 10, 20], false), [0, 20]);
  assert.deepEqual(wholeOf([], true), [0, 0]);
  assert.equal(narrowestOf([0, 30], 3), 20);
});

test("a zoomed part is kept for the same period, and for a period that only goes on", () => {
  const part = { of: WHOLE, shown: [110, 114] };
  const later = [112, 136];
  assert.deepEqual(shownPart(null, WHOLE, true), WHOLE);
  assert.deepEqual(shownPart(part, WHOLE, false), [110, 114]);
  assert.deepEqual(shownPart(part, later, false), later);
  assert.deepEqual(shownPart(part, [102, 126], true), [110, 114]);
  assert.deepEqual(shownPart(part, later, true), [112, 116]);
  assert.deepEqual(shownPart({ of: WHOLE, shown: WHOLE }, later, true), later);
});
