/** Pure parts of the corpus report: cuts, bins, changed texts, labels. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { labelledEdges } from "../../src/tongsa/visualize/assets/corpus_chart.js";
import {
  changedPart, highPosition, partsOf, positionOf, ratioLabel, ratioText, share, shortName, shownBins, visible,
} from "../../src/tongsa/visualize/assets/corpus_data.js";

const COUNTS = [0, 1, 2, 3, 4, 8, 16];

test("a cut is drawn where the values that are kept end", () => {
  assert.deepEqual([0.5, 2, 6, 16, 99, -3].map((value) => positionOf(COUNTS, value)), [0.5, 2, 4.5, 6, 6, 0]);
  assert.equal(highPosition(COUNTS, 0), 1, "0 is kept: the cut is after its bin");
  assert.equal(highPosition(COUNTS, 3), 4);
  assert.equal(highPosition(COUNTS, 6), 4.5, "inside a bin of several values");
  assert.equal(highPosition([0, 0.5, 1], 0.5), 1, "a share is no count");
});

test("bins without pairs at both ends are left out, unless a cut is there", () => {
  const layers = [[0, 0, 3, 1, 0, 0], [0, 0, 0, 2, 0, 0]];
  assert.deepEqual(shownBins(layers, [null, null]), [2, 4]);
  assert.deepEqual(shownBins(layers, [null, 4.5]), [2, 5]);
  assert.deepEqual(shownBins(layers, [1, 3]), [1, 4]);
  assert.deepEqual(shownBins([[0, 0]], [null, null]), [0, 2]);
});

test("labels do not touch each other, and edges without a label have none", () => {
  assert.deepEqual(labelledEdges(["0", "1", "2", "3", "4"], 30), [0, 1, 2, 3, 4]);
  assert.deepEqual(labelledEdges(["0", "1", "2", "3", "4"], 15), [0, 2, 4]);
  assert.deepEqual(labelledEdges(["", "1/2", "", "", "1", "", "", "2"], 12), [1, 4, 7]);
});

test("a repair is shown as the part that differs", () => {
  assert.deepEqual(changedPart("caf\u00c3\u00a9 au lait", "café au lait"), { start: "caf", before: "\u00c3\u00a9", after: "é", end: " au lait" });
  assert.deepEqual(changedPart("a b", "a b"), { start: "a b", before: "", after: "", end: "" });
  assert.deepEqual(changedPart("aa", "aaa"), { start: "aa", before: "", after: "a", end: "" });
  assert.equal(visible("a\u200bb\u0007\u202ec"), "a⟨200B⟩b⟨0007⟩⟨202E⟩c");
});

test("shares, ratios and names as text", () => {
  assert.deepEqual([share(0, 10), share(1, 100000), share(1, 3), share(1, 0)], ["0 %", "< 0.1 %", "33.3 %", "< 0.1 %"]);
  assert.deepEqual([-2, 0, 1, 0.5].map(ratioText), ["1/4", "1", "2", "1.4"]);
  assert.deepEqual([-2, 0.5, 3.0000000001].map(ratioLabel), ["1/4", "", "8"]);
  assert.equal(shortName(["a/x.tsv", "b/y.tsv"], "a/x.tsv"), "x.tsv");
  assert.equal(shortName(["a/x.tsv", "b/x.tsv"], "a/x.tsv"), "a/x.tsv");
});

test("kept, filtered and unusable records are all records", () => {
  const report = { read: 100, kept: 80, dropped: 20, unusable: [{ name: "empty", count: 3 }, { name: "not-utf8", count: 2 }] };
  const { kept, filtered, unusable } = partsOf(report);
  assert.deepEqual([kept, filtered, unusable], [80, 15, 5]);
  assert.equal(kept + filtered + unusable, report.read);
});
