/** Pure parts of the views: search tree, axes, head texts, masks, positions. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { closestPoint, formatValue, logTicks, ticks, verticalAxis } from "../../src/tongsa/visualize/assets/axis.js";
import { initialMode, lineClass } from "../../src/tongsa/visualize/assets/curves.js";
import { headFact, headTitle, roleCaption } from "../../src/tongsa/visualize/assets/head_text.js";
import { cosineSimilarity, sinusoids } from "../../src/tongsa/visualize/assets/positions.js";
import {
  joinTokens,
  linkTree,
  pathTo,
  prefixText,
  stepsInView,
  treeLayout,
  visibleSteps,
} from "../../src/tongsa/visualize/assets/search_tree_data.js";
import { scrollByKey, visibleFrame } from "../../src/tongsa/visualize/assets/search_tree_minimap.js";
import { scoreFormula, scoreSteps, standing } from "../../src/tongsa/visualize/assets/search_tree_text.js";
import { WORDS } from "../../src/tongsa/visualize/assets/view_words.js";
import { attentionMask, poolMask } from "../../src/tongsa/visualize/assets/weights.js";

const candidate = (token, parent, extra = {}) => ({
  token,
  parent,
  token_log_prob: -1,
  log_prob: -1,
  ranking_score: -1,
  ...extra,
});
const STEPS = [
  {
    length_penalty: 1,
    kept: [candidate("▁a", null), candidate("▁b", null)],
    pruned: [candidate("▁c", null, { gap: 0.5 })],
    more_pruned: 7,
  },
  {
    length_penalty: 2,
    kept: [candidate("</s>", 0, { is_finished: true, score: -0.5 }), candidate("b", 1), candidate("c", 0)],
    pruned: [],
    more_pruned: 0,
  },
];

test("a tree is linked by parents, and finished candidates have rows of their own", () => {
  const { columns } = linkTree(STEPS);
  assert.deepEqual(
    columns[1].map(({ lane, row, rank }) => [lane, row, rank]),
    [
      ["alive", 0, 1],
      ["alive", 1, 2],
      ["finished", 0, 0],
    ],
  );
  assert.deepEqual(
    pathTo(columns[1][0]).map(({ data }) => data.token),
    ["<s>", "▁b", "b"],
  );
  assert.deepEqual(columns[1].map(prefixText), ["bb", "ac", "a"]);
  const layout = treeLayout(columns, true),
    tops = columns.flat().map((node) => [node.lane, layout.box(node).top]);
  const lane = (name) => tops.filter(([other]) => other === name).map(([, top]) => top);
  assert.ok(
    Math.max(...lane("alive")) < Math.min(...lane("finished")) &&
      Math.max(...lane("finished")) < Math.min(...lane("pruned")),
  );
});

test("tokens are joined to text: word starts, bytes of UTF-8, conjoining jamo", () => {
  assert.equal(joinTokens(["▁나", "는", "▁<0x", "▁", "<0xEA>", "<0xB0>", "<0x80>"]), "나는 <0x 가");
  assert.equal(joinTokens(["▁\u1100", "\u1161"]), "가");
  assert.equal(joinTokens([]), "");
});

test("only columns near the visible part are drawn", () => {
  const places = Array.from({ length: 101 }, (_, i) => ({ left: i * 100, width: 80 }));
  assert.deepEqual(visibleSteps(places, 0, 500), [0, 9]);
  assert.deepEqual(visibleSteps(places, 5000, 500), [44, 59]);
});

test("a score shows its formula and its numbers, and a finished hypothesis its rank", () => {
  const words = WORDS.en.tree,
    tree = { steps: STEPS, alpha: 0.6, length_normalization: "gnmt", beam: 2 };
  assert.equal(scoreFormula(words, tree), "score = log p / ((5 + length) / 6)^0.6");
  assert.equal(scoreFormula(words, { ...tree, alpha: 0 }), "score = log p");
  const { columns } = linkTree(STEPS),
    [alive, , finished] = columns[1];
  assert.equal(scoreSteps(tree, alive), "−0.500 = −1.000 / 2.000");
  assert.equal(standing(words, finished, columns[1], [finished]), "finished: rank 1 of 1 (alive 2 · finished 1)");
  assert.equal(standing(words, alive, columns[1], [finished]), "1 of 2 alive at step 2 (alive 2 · finished 1)");
});

test("ticks are round and contain all values", () => {
  assert.deepEqual(ticks(0, 98), [0, 50, 100]);
  assert.deepEqual(ticks(3, 3), [3, 4]);
  assert.deepEqual(logTicks(0.07, 10), [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]);
  assert.deepEqual(logTicks(0.0005, 20), [0.0001, 0.001, 0.01, 0.1, 1, 10, 100]);
  for (const [low, high] of [
    [1, 1],
    [0.3, 0.31],
    [2, 700],
  ]) {
    const marks = logTicks(low, high);
    assert.ok(marks.length > 1 && marks[0] <= low && marks[marks.length - 1] >= high, `${marks}`);
  }
});

test("an axis of scores begins at zero or says that it does not", () => {
  const zero = verticalAxis([85, 95], "zero"),
    range = verticalAxis([85, 95], "range"),
    log = verticalAxis([0, 1], "log");
  assert.deepEqual([zero.ticks[0], zero.isBroken, range.ticks[0] > 0, range.isBroken], [0, false, true, true]);
  assert.equal(log.isLog, false); // zero has no logarithm
  assert.equal(verticalAxis([1, 100], "log").share(10), 0.5);
  assert.deepEqual([0.0695, 0, 12345, 1e-5, -0.5].map(formatValue), ["0.0695", "0", "1.2e4", "1e−5", "−0.5"]);
  assert.deepEqual(
    closestPoint(
      [
        [1, 5],
        [10, 6],
      ],
      7,
    ),
    [10, 6],
  );
});

test("a loss that falls a lot is shown on a logarithmic axis at first", () => {
  const panel = (name, values) => ({
    name,
    lines: [{ key: name, run: 0, points: values.map((value, i) => [i, value]) }],
  });
  assert.deepEqual(
    [panel("loss", [10, 0.1]), panel("loss", [2, 1]), panel("score", [1, 90]), panel("lr", [1e-6, 1])].map(initialMode),
    ["log", "linear", "zero", "linear"],
  );
  assert.equal(lineClass({ key: "loss", run: 1 }, 2, 4, 2), "line-2 thin");
  assert.equal(lineClass({ key: "bleu", run: 0 }, 0, 1, 1), "line-1");
});

test("a head is described over all sentences and in this one", () => {
  const words = WORDS.en.attention,
    summary = { pattern: "previous", value: 0.9, entropy: 0.5, normalized_entropy: 0.25, patterns: { previous: {} } };
  assert.equal(
    headFact(words, { pattern: "previous", count: 1, sentences: 1 }, summary),
    "90% of the weight is on “previous”. Entropy 0.50 bits, 25% of the maximum.",
  );
  assert.match(
    headFact(words, { pattern: "previous", count: 11, sentences: 12 }, summary),
    /^“previous” in 11 of 12 sentences\. In this sentence: 90%/,
  );
  assert.match(
    headFact(words, { pattern: "varies", count: 5, sentences: 12 }, summary),
    /^No pattern in most sentences: .* 5 of 12/,
  );
  assert.deepEqual(
    ["scaled-dot", "alignment", "multi-step", "hops"].map((score) => headTitle(words, score, 1, 1, 0)),
    ["Layer 2 · head 1", "Alignment", "Layer 2", "All hops"],
  );
  assert.equal(headTitle(words, "scaled-dot", 4, 0, 4), "Layer 1 · mean of the heads");
  assert.deepEqual(roleCaption(words, "cross", { score: "alignment", before: null }, true), [
    words.captions.overHops,
    words.equations.alignment,
  ]);
  assert.deepEqual(roleCaption(words, "own role", { score: null, before: null }, false), ["", ""]);
});

test("attention in a window says so", () => {
  const words = WORDS.en.attention;
  const [caption] = roleCaption(words, "encoder", { score: "dot", before: 2 }, false);
  assert.equal(caption, words.captions.window);
});

test("masks: causal, window, words, thumbnails", () => {
  const tokens = { queries: ["a", "b", "c"], keys: ["<s>", "a", "b"] };
  assert.equal(attentionMask(tokens, null, { before: null, after: null }), null);
  assert.deepEqual([...attentionMask(tokens, null, { before: null, after: 0 })], [0, 1, 1, 0, 0, 1, 0, 0, 0]);
  assert.deepEqual([...attentionMask(tokens, null, { before: 1, after: 0 })], [0, 1, 1, 0, 0, 1, 1, 0, 0]);
  const words = { query_starts: [0, 2], key_starts: [0, 1] }; // "a b" reads "a" in its second token
  assert.deepEqual([...attentionMask(tokens, words, { before: null, after: 0 })], [0, 0, 0, 0]);
  assert.deepEqual(
    [...attentionMask(tokens, { query_starts: [0, 1, 2], key_starts: [0, 1] }, { before: null, after: 0 })],
    [0, 1, 0, 0, 0, 0],
  );
  assert.deepEqual(
    [...poolMask(Uint8Array.from([0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]), 4, 4, 2, 2)],
    [0, 1, 0, 0],
  );
});

test("cosine similarity of sinusoids depends on the distance alone", () => {
  const width = 8,
    rows = 12,
    values = sinusoids(rows, width),
    similarity = cosineSimilarity(values, rows, width);
  assert.ok(Math.abs(similarity[0] - 1) < 1e-5);
  for (let row = 1; row + 3 < rows; row++) assert.ok(Math.abs(similarity[row * rows + row + 3] - similarity[3]) < 1e-5);
});

test("the overview frames the visible part, and keys move it within the tree", () => {
  const stage = { scrollLeft: 300, clientWidth: 400, scrollWidth: 2000 };
  assert.deepEqual(visibleFrame(stage), { left: 0.15, width: 0.2 });
  assert.equal(scrollByKey("ArrowRight", stage), 400);
  assert.equal(scrollByKey("PageUp", stage), 0);
  assert.equal(scrollByKey("End", stage), 1600);
  assert.equal(scrollByKey("a", stage), null);
  const places = [0, 100, 200, 300, 400].map((left) => ({ left, width: 80 })); // the root, and four steps
  assert.deepEqual(stepsInView(places, 0, 150), [1, 1]);
  assert.deepEqual(stepsInView(places, 190, 250), [2, 4]);
});
