/**
 * Geometry of a card: which rows and columns are drawn, and how large the cells are.
 *
 * @typedef {{left: number, top: number, cellWidth: number, cellHeight: number, rows: number[], rotated: boolean,
 *   numbers: boolean, width: number, height: number}} CardLayout
 */
import { ARROWS } from "./dom.js";
import { clamp } from "./format.js";
import { nearestLayer } from "./trace_address.js";

/** Space for the digits of a number in a cell, in pixels. */
const NUMBER_WIDTH = 42;
const MIN_LABELED_CELL = 13;
const MAX_LABELED_CELL = 64;
const ROW_HEIGHT = 18;
/** A formula of more characters does not fit into a narrow card. */
const LONG_FORMULA = 40;

/** What an axis counts: "source", "target", "hop", "slot", "names" (tokens of the vocabulary), or null for numbers. */
export const axisLabels = ({ axes, labels, names }, axis) => {
  if (names && axes[axis] === "vocabulary") return "names";
  return axis >= 0 ? labels?.[axis] || null : null;
};

/**
 * Labels of an axis: tokens, hops, or numbers from 1.
 *
 * @param {{source: {tokens: string[]}, target: {inputs: string[]}}} data
 * @param {string} hop the word for a hop; without it hops are numbers
 */
export const axisNames = (data, meta, axis, hop = "") => {
  const count = axis >= 0 ? meta.shape[axis] : 1,
    kind = axisLabels(meta, axis);
  const tokens = { source: data.source.tokens, target: data.target.inputs, names: meta.names }[kind];
  const numbered = (i) => (kind === "hop" && hop ? `${hop} ${i + 1}` : String(i + 1));
  return Array.from({ length: count }, (_, i) => tokens?.[i] ?? numbered(i));
};

/** True if columns are few or are tokens, so that each has a label. */
export const hasColumnLabels = (meta, matrix) => axisLabels(meta, matrix.columnAxis) !== null || matrix.columns <= 12;

/**
 * Rows that a card draws: all, or the one of the followed token.
 *
 * @param {import("./trace_address.js").Token | null} token
 */
export const drawnRows = (meta, matrix, token) => {
  const all = Array.from({ length: matrix.rows }, (_, row) => row);
  return token && axisLabels(meta, matrix.rowAxis) === token.side ? all.filter((row) => row === token.i) : all;
};

/** Number of rows or columns that exist at a step: a target axis grows by one with each step. */
export const grownLength = (meta, axis, length, step) =>
  axisLabels(meta, axis) === "target" ? Math.min(length, step) : length;

/**
 * @param {{rows: number[], columns: number, hasLabels: boolean, rowLabelWidth: number,
 *   columnLabelWidth: number}} content
 * @param {number} available width in pixels
 * @returns {CardLayout}
 */
export const cardLayout = ({ rows, columns, hasLabels, rowLabelWidth, columnLabelWidth }, available) => {
  const left = Math.ceil(rowLabelWidth) + (rowLabelWidth ? 8 : 0),
    space = Math.max(40, available - left - 2);
  if (!hasLabels) {
    const cellWidth = clamp(space / columns, 1.5, 14),
      cellHeight = rows.length === 1 ? 28 : ROW_HEIGHT;
    return {
      left,
      top: 2,
      cellWidth,
      cellHeight,
      rows,
      rotated: false,
      numbers: false,
      width: left + cellWidth * columns + 2,
      height: 4 + cellHeight * rows.length,
    };
  }
  const fitting = clamp(space / columns, MIN_LABELED_CELL, MAX_LABELED_CELL),
    rotated = columnLabelWidth + 8 > fitting;
  const overhang = rotated ? Math.ceil(columnLabelWidth * 0.5) : 0;
  const cellWidth = Math.floor(rotated ? clamp((space - overhang) / columns, MIN_LABELED_CELL, fitting) : fitting);
  const top = rotated ? Math.ceil(columnLabelWidth * 0.866) + 12 : 22;
  const cellHeight = rows.length > 24 ? Math.max(12, Math.min(20, cellWidth)) : 26;
  return {
    left,
    top,
    cellWidth,
    cellHeight,
    rows,
    rotated,
    numbers: cellWidth >= NUMBER_WIDTH && cellHeight >= 18,
    width: left + cellWidth * columns + overhang + 2,
    height: top + cellHeight * rows.length + 2,
  };
};

/** Row (its position among the drawn ones) and column at a point; null outside. */
export const cellAt = (layout, columns, x, y) => {
  const row = Math.floor((y - layout.top) / layout.cellHeight),
    column = Math.floor((x - layout.left) / layout.cellWidth);
  return row >= 0 && row < layout.rows.length && column >= 0 && column < columns
    ? { row: layout.rows[row], column }
    : null;
};

/** Preferred width of a card: narrow ones stand side by side, a long formula needs space. */
export const cardWidth = (columns, hasLabels, formula = "") => {
  const limits = hasLabels ? [4, 9] : [32, 80];
  if (columns > limits[1]) return "100%";
  if (formula.length > LONG_FORMULA) return "24rem";
  return columns <= limits[0] ? (hasLabels ? "12rem" : "14rem") : hasLabels ? "24rem" : "18rem";
};

/** Groups of stages in the rail: one for each side and layer. */
export const stageGroups = (stages) => {
  const groups = [];
  for (const stage of stages) {
    const last = groups[groups.length - 1];
    if (last && last.side === stage.side && last.layer === stage.layer) last.stages.push(stage);
    else
      groups.push({
        id: `${stage.side}-${stage.layer ?? ""}-${groups.length}`,
        side: stage.side,
        layer: stage.layer,
        stages: [stage],
      });
  }
  return groups;
};

/** True if a group is open when `layer` is chosen; a side without this layer opens the one before it. */
export const isOpen = (group, groups, layer) => {
  if (group.layer === null) return true;
  const layers = groups
    .filter((other) => other.side === group.side && other.layer !== null)
    .map((other) => other.layer);
  return group.layer === nearestLayer(layers, layer);
};

/** Rows of a CSV file: a header with the column names, then one line for each row. */
export const csvText = (rowNames, columnNames, valueAt) => {
  const field = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // a spreadsheet must not run a token as a formula
  const safe = (text) => field(/^[=+\-@\t]/.test(text) ? `'${text}` : text);
  const lines = [["", ...columnNames.map(safe)]];
  rowNames.forEach((name, row) =>
    lines.push([safe(name), ...columnNames.map((_, column) => String(valueAt(row, column)))]),
  );
  return `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
};

/** The index that a key moves to; the first press selects the first cell. */
export const movedIndex = ({ part, layout: { rows }, grown }, index, key) => {
  const lastRow = rows.filter((row) => row < grown.rows).length - 1,
    lastColumn = grown.columns - 1;
  if (!index) return part.index(rows[0], 0);
  const row = part.rowAxis >= 0 ? rows.indexOf(index[part.rowAxis]) : 0,
    column = part.columnAxis >= 0 ? index[part.columnAxis] : 0;
  const [down, right] = ARROWS[key] ?? [0, key === "Home" ? -column : lastColumn - column];
  return part.index(
    rows[clamp(row + down, 0, Math.max(0, lastRow))],
    clamp(column + right, 0, Math.max(0, lastColumn)),
  );
};
