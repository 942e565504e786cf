/** Pure parts of the matrices: colors, masks, words, cells. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { displayToken } from "../../src/tongsa/visualize/assets/canvas_text.js";
import { colorIndex, interpolate, textColorOn } from "../../src/tongsa/visualize/assets/colors.js";
import { describeCell, moveCell } from "../../src/tongsa/visualize/assets/head_canvas.js";
import { cellNumber, heatmapCellAt, maskedRuns } from "../../src/tongsa/visualize/assets/heatmap.js";
import { largestWeights, maxPool, mergeWords } from "../../src/tongsa/visualize/assets/weights.js";

test("zero is the middle of a diverging scale and the first color of a sequential one", () => {
  assert.deepEqual(
    [-2, -1, 0, 1, 2].map((value) => colorIndex(value, 1, "diverging")),
    [0, 0, 128, 255, 255],
  );
  assert.deepEqual(
    [-1, 0, 0.5, 2, NaN].map((value) => colorIndex(value, 1)),
    [0, 0, 128, 255, 0],
  );
});

test("256 colors begin and end with the stops, and text on them has contrast", () => {
  const colors = interpolate(["000000", "ff8000", "ffffff"]);
  assert.deepEqual([colors.length, colors[0], colors[255]], [256, [0, 0, 0], [255, 255, 255]]);
  assert.deepEqual([textColorOn(colors[0]), textColorOn(colors[255])], ["#ffffff", "#000000"]);
});

test("masked cells are grouped into runs of a row", () => {
  const mask = [0, 1, 1, 0, 0, 1, 1, 0, 1];
  const all = { firstRow: 0, lastRow: 3, firstColumn: 0, lastColumn: 3 };
  assert.deepEqual(maskedRuns(mask, 3, all), [
    [0, 1, 3],
    [1, 2, 3],
    [2, 0, 1],
    [2, 2, 3],
  ]);
});

test("words sum the weights of their keys and average their queries", () => {
  const weights = [0.5, 0.25, 0.25, 0.1, 0.2, 0.7, 1, 0, 0];
  const merged = mergeWords(weights, 3, 3, { query_starts: [0, 2], key_starts: [0, 1] });
  assert.deepEqual(
    Array.from(merged, (weight) => Number(weight.toFixed(4))),
    [0.3, 0.7, 1, 0],
  );
});

test("a pooled thumbnail keeps the peaks, and the largest weights are found", () => {
  const [pooled, rows, columns] = maxPool(Float32Array.from([0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3]), 4, 4, 2);
  assert.deepEqual([...pooled, rows, columns], [1, 2, 0, 3, 2, 2]);
  assert.deepEqual(largestWeights([0.1, 0.5, 0.3], 0.2, 5), [1, 2]);
  assert.deepEqual(largestWeights([0.1, 0.5, 0.3], 0, 2), [1, 2]);
});

test("a masked cell is named, not shown as a weight", () => {
  const matrix = {
    values: [1, 0, 0.25, 0.75],
    rows: ["▁a", "b"],
    columns: ["<s>", "▁a"],
    mask: [0, 1, 0, 0],
    max: 1,
    image: null,
  };
  assert.deepEqual(
    describeCell(matrix, { row: 0, column: 1 }, () => "masked"),
    ["·a → ·a", "masked"],
  );
  assert.deepEqual(
    describeCell(matrix, { row: 1, column: 1 }, () => "masked"),
    ["b → ·a", "0.7500"],
  );
  assert.deepEqual(
    describeCell(matrix, { row: 1, column: null }, () => ""),
    ["b → ·a 0.750, <s> 0.250", ""],
  );
});

test("arrow keys stay inside the matrix; in the lines they change the side", () => {
  const matrix = { rows: ["a", "b"], columns: ["x"] };
  assert.deepEqual(moveCell("heatmap", null, [0, 1], matrix), { row: 0, column: 0 });
  assert.deepEqual(moveCell("heatmap", { row: 1, column: 0 }, [1, 0], matrix), { row: 1, column: 0 });
  assert.deepEqual(moveCell("lines", { row: 1, column: null }, [0, 1], matrix), { row: null, column: 0 });
});

test("a point is a cell, a label's row or column, or nothing", () => {
  const layout = { left: 10, top: 10, cell: 5 },
    scroll = { scrollLeft: 0, scrollTop: 0 };
  const matrix = { rows: ["a", "b"], columns: ["x", "y"] };
  const at = (x, y) => heatmapCellAt(x, y, scroll, matrix, layout);
  assert.deepEqual(
    [at(16, 11), at(3, 16), at(11, 3)],
    [
      { row: 0, column: 1 },
      { row: 1, column: null },
      { row: null, column: 0 },
    ],
  );
  assert.deepEqual([at(3, 3), at(25, 11), at(11, 25)], [null, null, null]);
});

test("numbers in cells and tokens on labels are short", () => {
  assert.deepEqual([0.5, 1, -0.25, -0.001].map(cellNumber), [".50", "1.00", "−.25", ".00"]);
  assert.deepEqual(["▁home", "▁", "</s>"].map(displayToken), ["·home", "·", "</s>"]);
});
