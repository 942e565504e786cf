/** One head as lines: queries on the left, keys on the right. */
import { drawLabel, font, maxLabelWidth } from "./canvas_text.js";
import { clamp } from "./format.js";
import { largestWeights } from "./weights.js";

/** Maximum number of lines, those with the largest weights: more are indistinguishable and slow to draw. */
const MAX_LINES = 1200;
/** Levels of opacity and width; all lines of a level are drawn in a single stroke. */
const LEVELS = 12;

export const linesLayout = ({ queries, keys }, width, height, zoom) => {
  const fitting = clamp(height / Math.max(queries.length, keys.length), 18, 28);
  const row = Math.max(14, Math.round(fitting * zoom)), size = clamp(row - 7, 11, 15), numberWidth = 48;
  const left = Math.ceil(maxLabelWidth(queries, size)) + numberWidth + 18, right = Math.ceil(maxLabelWidth(keys, size)) + numberWidth + 18;
  const totalWidth = Math.max(left + right + 100, Math.min(width, 680)), totalHeight = row * Math.max(queries.length, keys.length);
  // the shorter side is spread out, so that a monotone alignment gives horizontal lines
  const stepOf = (count) => Math.min(2 * row, totalHeight / count), startOf = (count) => 4 + (totalHeight - stepOf(count) * count) / 2;
  const sides = { query: queries.length, key: keys.length };
  const rows = Object.fromEntries(Object.entries(sides).map(([side, n]) => [side, { step: stepOf(n), start: startOf(n) }]));
  return { row, rows, size, left, right, width: totalWidth, height: totalHeight + 8 };
};

/** Indices of the weights to draw: all visible ones of the hovered token, otherwise the largest. */
const visibleLines = (head, hovered) => {
  const { queries, keys, weights, max } = head;
  if (!hovered) return (head.lines ??= largestWeights(weights, 0.01 * max, MAX_LINES)); // computed once for a head
  const all = hovered.query !== null
    ? keys.map((_, key) => hovered.query * keys.length + key)
    : queries.map((_, query) => query * keys.length + hovered.key);
  return all.filter((index) => weights[index] >= 0.001);
};

export const paintLines = (context, viewport, { head, layout, hovered, theme }) => {
  const { row, rows, left, right, width, size } = layout, { queries, keys, weights, max } = head;
  const centerY = (side) => (i) => rows[side].start + rows[side].step * (i + 0.5) - viewport.y;
  const queryY = centerY("query"), keyY = centerY("key"), from = left - viewport.x, to = width - right - viewport.x, middle = (from + to) / 2;
  const isVisible = (y) => y >= 0 && y <= viewport.height; // a line between two invisible words is not drawn
  const levels = Array.from({ length: LEVELS + 1 }, () => []);
  for (const index of visibleLines(head, hovered)) {
    const a = queryY(Math.floor(index / keys.length)), b = keyY(index % keys.length);
    if (isVisible(a) || isVisible(b)) levels[Math.ceil(Math.min(1, weights[index] / max) * LEVELS)].push([a, b]);
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
  const label = (text, i, side) => {
    const y = centerY(side)(i);
    if (y < -row || y > viewport.height + row) return;
    const isQuery = side === "query", isHovered = hovered && hovered[side] === i, isOtherSide = hovered && hovered[side] === null;
    const weight = !isOtherSide ? 0 : isQuery ? weights[i * keys.length + hovered.key] : weights[hovered.query * keys.length + i];
    context.font = font(theme.sans, size, isHovered || (isOtherSide && weight >= 0.5 * max) ? 650 : 400);
    const ink = isHovered ? theme.accent : hovered && !(isOtherSide && weight >= 0.005) ? theme.quiet : theme.ink;
    drawLabel(context, text, isQuery ? from - 10 : to + 10, y, isQuery ? "right" : "left", ink, theme.quiet);
    if (!isOtherSide || weight < 0.0005) return;
    context.font = font(theme.sans, 12);
    context.fillStyle = theme.quiet;
    context.textAlign = isQuery ? "left" : "right";
    context.fillText(weight.toFixed(3), isQuery ? 2 - viewport.x : width - 2 - viewport.x, y);
  };
  queries.forEach((text, i) => label(text, i, "query"));
  keys.forEach((text, i) => label(text, i, "key"));
};

/** The query or key at a point; null between the sides. */
export const lineTokenAt = (x, y, { scrollLeft, scrollTop }, { queries, keys }, layout) => {
  const sheetX = x + scrollLeft, side = sheetX <= layout.left ? "query" : sheetX >= layout.width - layout.right ? "key" : "";
  if (!side) return null;
  const i = Math.floor((y + scrollTop - layout.rows[side].start) / layout.rows[side].step);
  if (i < 0 || i >= (side === "query" ? queries : keys).length) return null;
  return { query: null, key: null, [side]: i };
};
