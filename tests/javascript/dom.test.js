/** Pure parts of dom.js and format.js. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { nextIndex } from "../../src/tongsa/visualize/assets/dom.js";
import { percent, probability, signed, truncate } from "../../src/tongsa/visualize/assets/format.js";

test("arrow keys wrap around a list; Home and End go to its ends; other keys do nothing", () => {
  assert.deepEqual(
    ["ArrowRight", "ArrowDown", "ArrowLeft", "Home", "End", "a"].map((key) => nextIndex(key, 2, 3)),
    [0, 0, 1, 0, 2, null],
  );
  assert.equal(nextIndex("ArrowRight", 0, 0), null);
});

test("numbers have a typographic minus and never a negative zero", () => {
  assert.deepEqual([signed(-1.5), signed(-0.0001), signed(2, 1), percent(0.345)], ["−1.500", "0.000", "2.0", "35%"]);
  assert.deepEqual([-20, -3, Math.log(0.5), -1e-6].map(probability), ["<0.1%", "5.0%", "50%", "100%"]);
});

test("a text is cut between characters, not inside a surrogate pair", () => {
  assert.equal(truncate("😀😀😀", 2), "😀…");
  assert.equal(truncate("abc", 3), "abc");
});
