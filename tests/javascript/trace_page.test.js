/** Pure parts of the trace page: address, layout, formulas, tour, search, edits. */
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  inLayer,
  movedLayer,
  nearestLayer,
  parseCell,
  readSelection,
  writeSelection,
} from "../../src/tongsa/visualize/assets/trace_address.js";
import {
  axisNames,
  cardLayout,
  cardWidth,
  cellAt,
  csvText,
  drawnRows,
  grownLength,
  isOpen,
  stageGroups,
} from "../../src/tongsa/visualize/assets/trace_layout.js";
import { parseFormula } from "../../src/tongsa/visualize/assets/trace_math.js";
import { bestPath, prefixOf } from "../../src/tongsa/visualize/assets/trace_output.js";
import { matrixOf } from "../../src/tongsa/visualize/assets/trace_tensor.js";
import { tourCell, tourSteps } from "../../src/tongsa/visualize/assets/trace_tour.js";
import { normalizedRow } from "../../src/tongsa/visualize/assets/trace_row_editor.js";

const TRACE = {
  stages: [{ id: "a", side: "encoder", layer: 1, tensors: ["t0", "t1"] }],
  tensors: { t0: { name: "x", path: "p" }, t1: { name: "y", path: "p" } },
};

test("the address keeps the selection, and a wrong one is corrected", () => {
  const limits = {
    steps: 6,
    layers: [1, 2],
    heads: 4,
    tour: 14,
    tensors: { t3: { shape: [4, 6, 6] } },
    counts: { source: 6, target: 6 },
  };
  const selection = {
    step: 3,
    layer: 1,
    head: 2,
    cell: { tensor: "t3", index: [1, 2, 5] },
    token: { side: "source", i: 2 },
    tour: 7,
  };
  const written = Object.fromEntries(
    new URLSearchParams(Object.entries(writeSelection(selection)).map(([key, value]) => [key, String(value)])),
  );
  assert.deepEqual(readSelection(written, limits), selection);
  const wrong = readSelection(
    { step: "99", layer: "-1", head: "<b>", cell: "t3.9.9.9", token: "source99", tour: "1e9" },
    limits,
  );
  assert.deepEqual(wrong, { step: 6, layer: 1, head: 1, cell: null, token: null, tour: 0 });
  assert.equal(parseCell("constructor.1", {}), null);
});

test("the same tensor is found in another layer", () => {
  const tensors = { a: { name: "q" }, b: { name: "k" }, c: { name: "q" }, d: { name: "k" } };
  const stages = [
    { id: "1", side: "encoder", layer: 1, tensors: ["a", "b"] },
    { id: "2", side: "encoder", layer: 2, tensors: ["c", "d"] },
  ];
  assert.equal(inLayer(tensors, stages, "b", 2), "d");
  assert.equal(inLayer(tensors, stages, "b", 3), null);
});

test("numbers are drawn where they fit, and a point finds its cell", () => {
  const content = { rows: [0, 1, 2], columns: 3, hasLabels: true, rowLabelWidth: 40, columnLabelWidth: 30 };
  const wide = cardLayout(content, 400),
    narrow = cardLayout({ ...content, columns: 20 }, 300);
  assert.ok(wide.numbers && !narrow.numbers && wide.width <= 400);
  assert.deepEqual(cellAt(wide, 3, wide.left + wide.cellWidth * 1.5, wide.top + wide.cellHeight * 2.5), {
    row: 2,
    column: 1,
  });
  assert.equal(cellAt(wide, 3, 5, 5), null);
  assert.ok(cardLayout({ ...content, columns: 192, hasLabels: false }, 300).width < 400);
  const formulas = ["A = softmax(S)", "N = gamma ⊙ (x - mean(x)) / sqrt(var(x) + epsilon) + beta"];
  assert.deepEqual(
    formulas.map((formula) => cardWidth(64, false, formula)),
    ["18rem", "24rem"],
  );
});

test("a target axis grows with the step, and a followed token leaves its row", () => {
  const meta = { axes: ["token", "width"], shape: [6, 4], labels: ["target", ""] },
    matrix = matrixOf(meta, {});
  assert.equal(grownLength(meta, 0, 6, 3), 3);
  assert.equal(grownLength(meta, 1, 4, 3), 4);
  assert.deepEqual(drawnRows(meta, matrix, { side: "target", i: 2 }), [2]);
  assert.equal(drawnRows(meta, matrix, { side: "source", i: 2 }).length, 6);
});

test("rows and columns have names: tokens, hops in the language of the page, or numbers", () => {
  const data = { source: { tokens: ["▁I", "</s>"] }, target: { inputs: [] } },
    meta = { axes: ["hop", "key", "width"], shape: [2, 2, 1], labels: ["hop", "source", ""] };
  const names = (word) => [0, 1, 2].map((axis) => axisNames(data, meta, axis, word));
  assert.deepEqual(names("홉"), [["홉 1", "홉 2"], ["▁I", "</s>"], ["1"]]);
  assert.deepEqual(names("")[0], ["1", "2"]);
});

test("one layer is open; a side with fewer layers opens its last", () => {
  const stages = [
    ["encoder", 1],
    ["encoder", 1],
    ["encoder", 2],
    ["memory", null],
    ["decoder", 1],
  ].map(([side, layer], i) => ({ id: `${i}`, side, layer, tensors: [] }));
  const groups = stageGroups(stages);
  assert.deepEqual(
    groups.map(({ stages: { length } }) => length),
    [2, 1, 1, 1],
  );
  assert.deepEqual(
    groups.map((group) => isOpen(group, groups, 2)),
    [false, true, true, true],
  );
});

test("a spreadsheet does not run a token", () => {
  assert.equal(
    csvText(['=1+1,"'], ["a"], () => -1.5),
    ',a\r\n"\'=1+1,""",-1.5\r\n',
  );
});

test("formulas become MathML", () => {
  const text = (node) =>
    node.text ?? node.children.map(text).join(node.tag === "mrow" || node.tag === "math" ? "" : "|");
  const tags = (formula) => parseFormula(formula).children.map(({ tag }) => tag);
  assert.deepEqual(tags("S = Q K^T / sqrt(d_k)"), ["mi", "mo", "mi", "msup", "mo", "msqrt"]);
  assert.equal(text(parseFormula("h_{t-1}^2 = alpha . x")), "h|t−1|2=α·x");
  assert.deepEqual(tags("sum_j frac(a, b) tilde(h)"), ["munder", "mfrac", "mover"]);
  assert.equal(text(parseFormula("sqrt(var(x) + eps) + b")), "var(x)+eps+b");
  assert.deepEqual(tags("sqrt(var(x) + eps) + b"), ["msqrt", "mo", "mi"]);
  for (const broken of ["sqrt(", "frac(a", "x_", "^", "{", ")", "", "<img>"])
    assert.equal(parseFormula(broken).tag, "math");
});

test("the tour shows steps whose tensors exist", () => {
  const data = {
    ...TRACE,
    tour: {
      steps: [
        { en: "a", tensor: "y" },
        { en: "b", tensor: "absent" },
        { en: "c", stage: "search" },
        { en: "d", tensor: "y", side: ["decoder", "encoder"] },
      ],
    },
  };
  assert.deepEqual(
    tourSteps(data).map(({ en, id }) => [en, id]),
    [
      ["a", "t1"],
      ["d", "t1"],
    ],
  );
  assert.deepEqual(tourCell({ axes: ["head", "query", "key"], shape: [2, 3, 4] }, [-1, 9], 2), [1, 2, 3]);
  assert.deepEqual(tourCell({ axes: ["width"], shape: [5] }, [2, 3], 1), [2]);
});

test("the best path of a search is found from its end", () => {
  const search = {
    finished: [[1, 1]],
    steps: [
      {
        kept: [
          { token: "a", parent: null },
          { token: "b", parent: null },
        ],
      },
      {
        kept: [
          { token: "c", parent: 0 },
          { token: "</s>", parent: 1 },
        ],
      },
    ],
  };
  assert.deepEqual(
    [...bestPath(search)],
    [
      [1, 1],
      [0, 1],
    ],
  );
  assert.deepEqual(prefixOf(search, 1, search.steps[1].kept[0]), ["a", "c"]);
});

test("an edited row sums to one", () => {
  assert.deepEqual(normalizedRow([2, 0, -1, 2]), [0.5, 0, 0, 0.5]);
  assert.deepEqual(normalizedRow([0, 0]), [0.5, 0.5]);
});

test("layers that were left out are passed over", () => {
  assert.equal(nearestLayer([1, 6], 3), 1);
  assert.equal(nearestLayer([2, 6], 1), 2);
  assert.deepEqual([movedLayer([1, 6], 1, 2), movedLayer([1, 6], 6, 5), movedLayer([1, 6], 6, 7)], [6, 1, 6]);
});
