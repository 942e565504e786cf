/** Pure parts of the comparison page: pairs, rankings, orders, word differences, charts. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { bandsOf, seriesClass, shownValues } from "../../src/tongsa/visualize/assets/compare_chart.js";
import { curveLines, curveMode } from "../../src/tongsa/visualize/assets/compare_curves.js";
import {
  compact, intervalText, ngramsOf, number, orderedSentences, pairOf, pValue, ranking, settingOf, signedNumber, unbeaten,
} from "../../src/tongsa/visualize/assets/compare_data.js";
import { commonSubsequence, compareWords, joinRuns } from "../../src/tongsa/visualize/assets/compare_differences.js";
import { isViewed } from "../../src/tongsa/visualize/assets/compare_sentences.js";
import { sliceLines } from "../../src/tongsa/visualize/assets/compare_tables.js";
import { initialState } from "../../src/tongsa/visualize/assets/compare.js";

const score = (value) => ({ value, low: value - 1, high: value + 1, runs: [value] });
const pair = (a, b, difference, verdict) => ({
  a, b, difference, low: difference - 1, high: difference + 1, p_bootstrap: 0.01, p_randomization: 0.02, verdict,
  people: null, seeds: [1, 3], covers_seeds: false,
});
const BLEU = {
  name: "bleu", lower_is_better: false, scores: [20, 30, 29].map(score),
  pairs: [pair(0, 1, -10, "worse"), pair(0, 2, -9, "worse"), pair(1, 2, 1, "none")],
};
const TER = { ...BLEU, name: "ter", lower_is_better: true };

test("a pair is read from both sides", () => {
  assert.equal(pairOf(BLEU, 0, 1).verdict, "worse");
  const mirrored = pairOf(BLEU, 1, 0);
  assert.deepEqual([mirrored.difference, mirrored.low, mirrored.high], [10, 9, 11]);
  assert.deepEqual([mirrored.verdict, mirrored.seeds], ["better", [3, 1]]);
  assert.equal(pairOf(BLEU, 1, 1), null);
});

test("the ranking follows the direction of the metric, and only a proven loser is beaten", () => {
  assert.deepEqual(ranking(BLEU), [1, 2, 0]);
  assert.deepEqual(ranking(TER), [0, 2, 1]);
  assert.deepEqual(unbeaten(BLEU), [1, 2]);
});

test("numbers as text", () => {
  assert.deepEqual([number(-1.234), number(null), signedNumber(1.234), signedNumber(-0.001)], ["−1.23", "–", "+1.23", "0.00"]);
  assert.deepEqual([pValue(0.0004), pValue(0.0123)], ["p < 0.001", "p = 0.012"]);
  assert.deepEqual([intervalText({ low: 9.25, high: 12 }), intervalText({ low: null, high: null })], ["9.3 … 12.0", ""]);
  assert.equal(intervalText({ low: 1.16, high: 1.2 }), "1.16 … 1.20");
  assert.deepEqual([12, 999.9, 1500, 2450000, null, 2.5].map(compact), ["12", "1.0 k", "1.5 k", "2.5 M", "–", "2.5"]);
});

const SENTENCES = {
  metric: "chrf", lower_is_better: false, of: 9,
  rows: [
    { line: 7, source: "long source", outputs: ["a", "b"], scores: [10, 40] },
    { line: 2, source: "s", outputs: ["c", "d"], scores: [50, 30] },
    { line: 5, source: "same", outputs: ["e", "e"], scores: [1, 1] },
    { line: 6, source: "undefined", outputs: ["f", "g"], scores: [null, 1] },
  ],
};

test("sentences are ordered by difference, side, line or length; equal outputs are left out", () => {
  const lines = (order, a = 0, b = 1) => orderedSentences(SENTENCES, a, b, order).map(({ sentence }) => sentence.line);
  assert.deepEqual(lines("difference"), [7, 2]);
  assert.deepEqual(lines("better-a"), [2]);
  assert.deepEqual(lines("better-b"), [7]);
  assert.deepEqual(lines("line"), [2, 7]);
  assert.deepEqual(lines("length"), [7, 2]);
  assert.deepEqual(lines("better-a", 1, 0), [7]);
  const lower = { ...SENTENCES, lower_is_better: true };
  assert.equal(orderedSentences(lower, 0, 1, "line")[0].difference, -20);
});

test("n-grams of a pair are read from both sides", () => {
  const data = { ngrams: [{ a: 0, b: 1, only_a: ["x"], only_b: ["y"] }] };
  assert.deepEqual(ngramsOf(data, 1, 0), [["y"], ["x"]]);
  assert.equal(ngramsOf(data, 0, 2), null);
});

test("words of an output are in the reference in order, elsewhere, or not", () => {
  const kinds = (output, reference, spaced) => compareWords(output, reference, spaced).map(({ kind }) => kind[0]).join("");
  assert.equal(kinds("the cat sat", "the cat sat"), "sss");
  assert.equal(kinds("sat the cat", "the cat sat"), "mss");
  assert.equal(kinds("the the cat", "the cat sat").split("").sort().join(""), "ess"); // the reference has it once
  assert.equal(kinds("a dog", "the cat"), "ee");
  assert.equal(kinds("猫坐", "坐猫", false).length, 2);
  assert.equal(kinds("", "x"), "");
});

test("the common subsequence is the longest one, and never longer than either text", () => {
  assert.deepEqual(commonSubsequence(["b", "a", "b"], ["a", "b"]), [false, true, true]);
  assert.deepEqual(commonSubsequence([], ["a"]), []);
  const long = Array.from({ length: 600 }, (_, i) => String(i % 7));
  assert.equal(commonSubsequence(long, long).every(Boolean), true);
});

test("runs of words keep their order and texts", () => {
  const words = compareWords("a x y b", "a b");
  assert.deepEqual(joinRuns(words), [
    { text: "a", kind: "same" }, { text: "x y", kind: "extra" }, { text: "b", kind: "same" },
  ]);
  assert.equal(joinRuns(compareWords("ab", "ab", false), false)[0].text, "ab");
});

const DATA = {
  settings: [{ name: "dot", systems: [0, 2] }, { name: "rnn", systems: [1] }],
  systems: [{ name: "dot-1" }, { name: "rnn" }, { name: "dot-2" }],
  metrics: [{ name: "bleu", lower_is_better: false, scores: [score(1), score(2)], pairs: [] }],
};
const PANEL = { name: "dev_loss", lines: [{ system: 2, points: [[10, 500, 60, 4], [20, 1000, 120, 0.5]] }] };

test("runs of one setting have one color, over steps, tokens or minutes", () => {
  assert.equal(settingOf(DATA, 2), 0);
  assert.deepEqual(curveLines(DATA, PANEL, "minutes"), [{ series: 0, points: [{ x: 1, value: 4 }, { x: 2, value: 0.5 }] }]);
  assert.equal(curveLines(DATA, PANEL, "tokens")[0].points[1].x, 1000);
  assert.equal(curveMode(PANEL), "log");
  assert.equal(curveMode({ ...PANEL, name: "bleu" }), "range");
});

test("a band goes along the upper ends and back along the lower ones", () => {
  const points = [{ x: 0, value: 2, low: 1, high: 3 }, { x: 1, value: 5, low: null, high: null }, { x: 2, value: 4, low: 2, high: 6 }];
  assert.deepEqual(bandsOf(points), [[[0, 3], [0, 1]], [[2, 6], [2, 2]]]);
  assert.deepEqual(bandsOf([points[0], points[2]]), [[[0, 3], [2, 6], [2, 2], [0, 1]]]);
  assert.deepEqual(shownValues([{ series: 0, points }]), [2, 1, 3, 5, 5, 5, 4, 2, 6]);
});

test("a slice without a value has no point", () => {
  const slice = { lines: [[{ value: 1, low: 0, high: 2 }, null, { value: 3, low: null, high: null }], [null, null, null]] };
  const lines = sliceLines(slice);
  assert.equal(lines.length, 1);
  assert.deepEqual(lines[0].points.map(({ x }) => x), [0, 2]);
});

test("a sentence has a page if all chosen models are on it; a file of outputs needs none", () => {
  const data = { systems: [{ origin: "run" }, { origin: "outputs" }, { origin: "model" }] };
  const sentence = { view: { file: "page-view-1.html", systems: [0] } };
  assert.deepEqual([[0, 1], [0, 2]].map((pair) => isViewed(data, sentence, pair)), [true, false]);
  assert.equal(isViewed(data, { view: null }, [0, 1]), false);
});

test("after six colors, lines are dashed", () => {
  assert.equal(seriesClass(1), "series-1 dash-0");
  assert.equal(seriesClass(7), "series-1 dash-1");
});

test("the page begins with the best two settings, and a saved choice wins if it exists", () => {
  assert.deepEqual(initialState(DATA, {}), { metric: "bleu", unit: "steps", a: 1, b: 0, order: "difference" });
  const saved = { metric: "none", unit: "minutes", a: "3", b: "9", order: "line" };
  assert.deepEqual(initialState(DATA, saved), { metric: "bleu", unit: "minutes", a: 2, b: 0, order: "line" });
});
