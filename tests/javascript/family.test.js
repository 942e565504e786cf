/** Pure parts of the family page: the time axis, matrices in words, differences, what a word reads. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { logTicks } from "../../src/tongsa/visualize/assets/family_curves.js";
import {
  attentionGrid, decodeSigned, difference, momentAt, reading, rowOf, spread, timeline, wordOfToken,
} from "../../src/tongsa/visualize/assets/family_data.js";
import { createView } from "../../src/tongsa/visualize/assets/family_view.js";

const pack = (...bytes) => Buffer.from(bytes).toString("base64");
const moment = (step, seconds) => ({ step, seconds });
const SLOW = { moments: [moment(0, 0), moment(10, 5), moment(20, 10), moment(null, null)] };
const FAST = { moments: [moment(0, 0), moment(10, 1), moment(15, 1.5), moment(null, null)] };
const NO_PROBES = { moments: [moment(null, null)] };

test("the time axis has every probed time once, and the saved models last", () => {
  assert.deepEqual(timeline([SLOW, FAST], "steps"), [0, 10, 15, 20, Infinity]);
  assert.deepEqual(timeline([SLOW, FAST], "minutes"), [0, 1, 1.5, 5, 10, Infinity]);
  assert.deepEqual(timeline([SLOW, { moments: [moment(3, 5.05)] }], "minutes"), [0, 5.05, 10, Infinity]);
  assert.deepEqual(timeline([NO_PROBES], "steps"), [Infinity]);
});

test("a column shows its last moment up to a time", () => {
  assert.equal(momentAt(FAST, 20, "steps").step, 15);
  assert.equal(momentAt(SLOW, 1.5, "minutes").step, 0);
  assert.equal(momentAt(SLOW, Infinity, "steps").step, null);
  assert.equal(momentAt(NO_PROBES, 0, "steps").step, null);
});

const AXIS = { tokens: ["▁go", "▁ho", "me"], starts: [0, 1], words: ["go", "home"] };
const COLUMN = { source: AXIS };
const ANSWER = {
  reads: "source", target: { tokens: ["▁집", "에"], starts: [0], words: ["집에"] },
  alignment: { shape: [2, 3], values: pack(0, 51, 204, 255, 0, 0) }, layers: [pack(255, 0, 0, 255, 0, 0)],
};

test("attention is merged to words: sums over keys, means over queries", () => {
  const words = attentionGrid(COLUMN, ANSWER, "words");
  assert.deepEqual([words.queries, words.keys, [...words.weights]], [["집에"], ["go", "home"], [0.5, 0.5]]);
  const tokens = attentionGrid(COLUMN, ANSWER, "tokens", 0);
  assert.deepEqual([...tokens.weights], [1, 0, 0, 1, 0, 0]);
  assert.deepEqual([...attentionGrid(COLUMN, ANSWER, "tokens", 5).weights].slice(3), [1, 0, 0]); // not stored: the mean
  assert.equal(attentionGrid(COLUMN, { ...ANSWER, alignment: undefined }, "words"), null);
});

test("hops and earlier tokens have their own axes", () => {
  const hops = attentionGrid(COLUMN, { ...ANSWER, reads: "hops" }, "words");
  assert.deepEqual([hops.queries, hops.keys], [["1", "2"], ["go", "home"]]);
  const history = { ...ANSWER, reads: "history", alignment: { shape: [2, 2], values: pack(255, 0, 0, 255) } };
  assert.deepEqual(attentionGrid(COLUMN, history, "words").keys, ["<s>", "▁집"]);
});

test("a difference compares rows of the same word", () => {
  const before = { queries: ["a", "b"], keys: ["x"], weights: Float32Array.of(0.25, 0.5) };
  const after = { queries: ["b", "c"], keys: ["x"], weights: Float32Array.of(1, 0.75) };
  assert.deepEqual([...difference(before, after).weights], [0.5, 0.75]);
});

test("a word is found nearest to its position, and names what it reads", () => {
  const grid = { queries: ["a", "b", "a"], keys: ["x", "y"], weights: Float32Array.of(0.25, 0.75, 1, 0, 0.5, 0.5) };
  assert.deepEqual([rowOf(grid, "a", 2), rowOf(grid, "a", 0), rowOf(grid, "c", 0)], [2, 0, -1]);
  assert.deepEqual(reading(grid, 0, 2), [["y", 0.75], ["x", 0.25]]);
  assert.deepEqual([0, 1, 2].map((token) => wordOfToken(AXIS, token)), [0, 1, 1]);
});

test("signed bytes are centered at 128; thumbnails keep both ends; ticks grow by 1, 2, 5", () => {
  assert.deepEqual([...decodeSigned({ values: pack(1, 128, 255) })], [-1, 0, 1]);
  assert.deepEqual(spread([0, 1, 2, 3, 4], 3), [0, 2, 4]);
  assert.deepEqual(logTicks(30, 1), [0, 1, 2, 5, 10, 20]);
});

test("a saved selection is restored and kept inside the axis", () => {
  const view = createView({ text: "", reference: "", task: "seq2seq", columns: [SLOW, FAST] }, "en", { time: "99", step: "3", align: "minutes" });
  assert.deepEqual([view.time, view.state.step, view.state.timeUnit], [Infinity, 2, "minutes"]);
  view.setTimeUnit("steps");
  assert.deepEqual(view.selection, { time: 5, step: 3, align: "steps", unit: "words" });
});
