/** One head as lines: queries (the rows of its matrix) on the left, keys (the columns) on the right. */
import { drawLabel, font, maxLabelWidth } from "./canvas_text.js";
import { clamp } from "./format.js";
import { largestWeights } from "./weights.js";

/** @typedef {import("./heatmap.js").Matrix} Matrix */
/** @typedef {import("./heatmap.js").Cell} Cell */
/** @typedef {ReturnType<typeof linesLayout>} LinesLayout */

/** Maximum number of lines, those with the largest weights: more are indistinguishable and slow to draw. */
const MAX_LINES = 1200;
/** Levels of opacity and width; all lines of a level are drawn in a single stroke. */
const LEVELS = 12;
/** Width of the numbers at the edges. */
const NUMBER_WIDTH = 48;

/**
 * Return positions and sizes of the labels in an area of width × height.
 * @param {{rows: string[], columns: string[]}} matrix
 * @param {number} width
 * @param {number} height
 * @param {number} zoom
 */
export const linesLayout = ({ rows, columns }, width, height, zoom) => {
  const most = Math.max(rows.length, columns.length),
    whole = height / most;
  const step = zoom ? Math.max(14, Math.round(clamp(whole, 18, 28) * zoom)) : clamp(whole, 8, 28);
  const size = clamp(step - 7, 11, 15);
  const side = (labels) => Math.ceil(maxLabelWidth(labels, size)) + NUMBER_WIDTH + 18;
  const left = side(rows),
    right = side(columns),
    totalHeight = step * most;
  // the shorter side is spread out, so that a monotone alignment gives horizontal lines
  const spread = (count) => {
    const size = Math.min(2 * step, totalHeight / count);
    return { step: size, start: 4 + (totalHeight - size * count) / 2 };
  };
  return {
    row: step,
    sides: { row: spread(rows.length), column: spread(columns.length) },
    size,
    left,
    right,
    width: Math.max(left + right + 100, Math.min(width, 680)),
    height: totalHeight + 8,
  };
};

/**
 * Return the indices of the weights to draw: all visible ones of the hovered token, otherwise the largest.
 * @param {Matrix} matrix
 * @param {Cell | null} hovered
 */
const visibleLines = ({ rows, columns, values, max }, hovered) => {
  if (!hovered) return largestWeights(values, 0.01 * max, MAX_LINES);
  const all =
    hovered.row !== null
      ? columns.map((_, column) => Number(hovered.row) * columns.length + column)
      : rows.map((_, row) => row * columns.length + Number(hovered.column));
  return all.filter((index) => values[index] >= 0.001);
};

/**
 * Paint the visible part of the lines with the labels of both sides.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./heatmap.js").Viewport} viewport
 * @param {{matrix: Matrix, layout: LinesLayout, hovered: Cell | null, theme: import("./canvas_text.js").Theme}} picture
 */
export const paintLines = (context, viewport, { matrix, layout, hovered, theme }) => {
  paintCurves(context, viewport, matrix, layout, hovered, theme);
  matrix.rows.forEach((text, i) =>
    paintSideLabel(context, viewport, { matrix, layout, hovered, theme }, text, i, "row"),
  );
  matrix.columns.forEach((text, i) =>
    paintSideLabel(context, viewport, { matrix, layout, hovered, theme }, text, i, "column"),
  );
};

const centerY = ({ sides }, viewport, side, i) => sides[side].start + sides[side].step * (i + 0.5) - viewport.y;

const paintCurves = (context, viewport, matrix, layout, hovered, theme) => {
  const { columns, values, max } = matrix,
    count = columns.length;
  const from = layout.left - viewport.x,
    to = layout.width - layout.right - viewport.x,
    middle = (from + to) / 2;
  const isVisible = (y) => y >= 0 && y <= viewport.height; // a line between two invisible words is not drawn
  /** @type {[number, number][][]} */
  const levels = Array.from({ length: LEVELS + 1 }, () => []);
  for (const index of visibleLines(matrix, hovered)) {
    const a = centerY(layout, viewport, "row", Math.floor(index / count)),
      b = centerY(layout, viewport, "column", index % count);
    if (isVisible(a) || isVisible(b)) levels[Math.ceil(Math.min(1, values[index] / max) * LEVELS)].push([a, b]);
  }
  context.strokeStyle = theme.accent;
  levels.forEach((lines, level) => {
    context.globalAlpha = level / LEVELS;
    context.lineWidth = 1 + (3 * level) / LEVELS;
    context.beginPath();
    for (const [a, b] of lines) {
      context.moveTo(from, a);
      context.bezierCurveTo(middle, a, middle, b, to, b);
    }
    context.stroke();
  });
  context.globalAlpha = 1;
};

const paintSideLabel = (context, viewport, { matrix, layout, hovered, theme }, text, i, side) => {
  const y = centerY(layout, viewport, side, i),
    { row: step, left, right, width, size } = layout;
  if (y < -step || y > viewport.height + step) return;
  const { values, columns, max } = matrix,
    isRow = side === "row";
  const isHovered = hovered && hovered[side] === i,
    isOtherSide = hovered && hovered[side] === null;
  const index = isRow ? i * columns.length + hovered?.column : hovered?.row * columns.length + i;
  const weight = isOtherSide ? values[index] : 0;
  context.font = font(theme.sans, size, isHovered || (isOtherSide && weight >= 0.5 * max) ? 650 : 400);
  const ink = isHovered ? theme.accent : hovered && !(isOtherSide && weight >= 0.005) ? theme.quiet : theme.ink;
  const edge = isRow ? left - viewport.x - 10 : width - right - viewport.x + 10;
  drawLabel(context, text, edge, y, isRow ? "right" : "left", ink, theme.quiet);
  if (!isOtherSide || weight < 0.0005) return;
  context.font = font(theme.sans, 12);
  context.fillStyle = theme.quiet;
  context.textAlign = isRow ? "left" : "right";
  context.fillText(weight.toFixed(3), isRow ? 2 - viewport.x : width - 2 - viewport.x, y);
};

/**
 * Return the query or key at a point; null between the sides.
 * @param {number} x
 * @param {number} y
 * @param {{scrollLeft: number, scrollTop: number}} scroll
 * @param {{rows: string[], columns: string[]}} matrix
 * @param {LinesLayout} layout
 * @returns {Cell | null}
 */
export const lineTokenAt = (x, y, { scrollLeft, scrollTop }, { rows, columns }, layout) => {
  const sheetX = x + scrollLeft,
    side = sheetX <= layout.left ? "row" : sheetX >= layout.width - layout.right ? "column" : "";
  if (!side) return null;
  const i = Math.floor((y + scrollTop - layout.sides[side].start) / layout.sides[side].step);
  if (i < 0 || i >= (side === "row" ? rows : columns).length) return null;
  return side === "row" ? { row: i, column: null } : { row: null, column: i };
};
