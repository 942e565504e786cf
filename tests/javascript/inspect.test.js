/** Pure parts of the inspection page: packed numbers, cells, histograms, search. */
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  cellValue, histogramPath, largest, matchTokens, number, patternName, profile, unscale,
} from "../../src/tongsa/visualize/assets/inspect_data.js";
import { groupMatrices, symbolRanges } from "../../src/tongsa/visualize/assets/inspect_weights.js";

const role = {
  layers: 1, heads: 2, offsets: [-1, 0], labels: ["broad", "previous"],
  entropy: { off: [0, 1, 2, 3] }, weights: { off: Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7]) }, patterns: { off: [0, 1, 1, 0] },
};

test("a packed number is divided by its scale; a missing one is not a number", () => {
  assert.deepEqual([...unscale(Uint16Array.from([0, 5000, 65535]), 10000)], [0, 0.5, NaN]);
});

test("a cell is the entropy or the weight at an offset of a head in a sentence", () => {
  assert.deepEqual([cellValue(role, "off", "entropy", 1, 1), cellValue(role, "off", "offset:-1", 1, 1)], [3, 6]);
  assert.ok(Number.isNaN(cellValue(role, "off", "offset:9", 0, 0)));
  assert.deepEqual(profile(role, "off", 1, 0), [4, 5]);
  assert.deepEqual([patternName(role, "off", 0, 1), patternName(role, "spread", 1, 1)], ["previous", "broad"]);
});

test("a histogram is drawn in its part of the common axis", () => {
  assert.equal(histogramPath({ counts: [1, 2], largest: 1 }, 1, 20, 10), "M0.0 10L0.0 5.0h10.00L10.0 0.0h10.00V10Z");
  assert.equal(histogramPath({ counts: [1, 2], largest: 1 }, 2, 20, 10), "M5.0 10L5.0 5.0h5.00L10.0 0.0h5.00V10Z");
});

test("exact matches and prefixes come first in a search, and a mark of a word's start does not count", () => {
  const tokens = ["other", "▁then", "▁the", "bathe"];
  assert.deepEqual(matchTokens(tokens, "the", 3), ["▁the", "▁then", "other"]);
  assert.deepEqual(matchTokens(tokens, "", 9), tokens);
});

test("numbers have about three digits", () => {
  assert.deepEqual([123.4, 12.34, -1.234, 0, 0.00123, null, NaN].map(number), ["123", "12.3", "−1.23", "0.00", "1e−3", "–", "–"]);
  assert.deepEqual([largest([null, -3, 2]), largest([])], [3, 1]);
});

test("modules with the same matrices share a table, and a symbol has one range in all models", () => {
  const matrices = [["W_r", "a"], ["W_z", "a"], ["W_r", "b"], ["W_z", "b"], ["W", "c"]].map(([symbol, path]) => ({ symbol, path }));
  assert.deepEqual([...groupMatrices(matrices)].map(([key, rows]) => [key, rows.map(([path]) => path)]), [["W_r W_z", ["a", "b"]], ["W", ["c"]]]);
  const runs = [2, 3].map((size) => ({ matrices: [{ symbol: "W", largest: size }] }));
  assert.deepEqual(symbolRanges({ runs }), { W: 3 });
});
