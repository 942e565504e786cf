/** A matrix as a heatmap. Only the visible part is painted, so 512 × 512 values scroll as smoothly as 5 × 5. */
import { clipped, drawLabel, font, maxLabelWidth } from "./canvas_text.js";
import { colorOf, textColorOn } from "./colors.js";
import { clamp } from "./format.js";

/**
 * A matrix to draw.
 * @typedef {object} Matrix
 * @property {ArrayLike<number>} values in row-major order
 * @property {string[]} rows labels of the rows
 * @property {string[]} columns labels of the columns
 * @property {number} max the value with the last color
 * @property {import("./colors.js").Scale} [scale]
 * @property {ArrayLike<number> | null} [mask] 1 where a value is masked; such cells are hatched
 * @property {CanvasImageSource} image one pixel for each value
 */
/** @typedef {{row: number | null, column: number | null}} Cell a cell, or only a row or a column of it */
/** @typedef {{x: number, y: number, width: number, height: number}} Viewport the visible part of the picture */
/** @typedef {ReturnType<typeof heatmapLayout>} HeatmapLayout */

/** Sizes in CSS pixels: the smallest cell that can be read, the cell with numbers, the largest cell. */
const [READABLE_CELL, NUMBER_CELL, MAX_CELL] = [12, 38, 64];
/** Distance of the lines of a hatch, in CSS pixels. */
const HATCH_STEP = 6;

/**
 * Return the cell size and the margins of a matrix in an area of width × height. Zoom 0 fits all cells.
 * @param {{rows: string[], columns: string[]}} matrix
 * @param {number} width
 * @param {number} height
 * @param {number} zoom
 */
export const heatmapLayout = ({ rows, columns }, width, height, zoom) => {
  const left = Math.ceil(maxLabelWidth(rows, 13)) + 12,
    labelWidth = Math.ceil(maxLabelWidth(columns, 13));
  const whole = Math.min((width - left - 4) / columns.length, (height - 90) / rows.length);
  const fitting = clamp(whole, zoom ? READABLE_CELL : 1, MAX_CELL),
    factor = zoom || 1;
  const horizontal = labelWidth + 8 <= fitting * factor;
  const right = horizontal ? 1 : Math.ceil(labelWidth * 0.5);
  const rotatedCell = (width - left - right) / columns.length; // rotated labels also need space on the right
  const size = horizontal ? fitting : clamp(rotatedCell, zoom ? READABLE_CELL : 1, fitting);
  const cell = Math.max(1, Math.floor(size * factor * 2) / 2);
  const top = horizontal ? 28 : Math.ceil(labelWidth * 0.866) + 14;
  return {
    cell,
    left,
    top,
    horizontal,
    size: clamp(cell - 2, 10, 13),
    width: left + cell * columns.length + right,
    height: top + cell * rows.length + 1,
  };
};

/**
 * Return the half-open ranges of rows and columns that are visible.
 * @param {Viewport} viewport
 * @param {HeatmapLayout} layout
 * @param {Matrix} matrix
 */
const visibleRange = (viewport, { cell, left, top }, { rows, columns }) => ({
  firstColumn: Math.floor(viewport.x / cell),
  lastColumn: Math.min(columns.length, Math.ceil((viewport.x + viewport.width - left) / cell)),
  firstRow: Math.floor(viewport.y / cell),
  lastRow: Math.min(rows.length, Math.ceil((viewport.y + viewport.height - top) / cell)),
});

/**
 * Paint the visible part of a matrix with its labels.
 * @param {CanvasRenderingContext2D} context
 * @param {Viewport} viewport
 * @param {{matrix: Matrix, layout: HeatmapLayout, hovered: Cell | null, theme: import("./canvas_text.js").Theme}} picture
 */
export const paintHeatmap = (context, viewport, { matrix, layout, hovered, theme }) => {
  const { cell, left, top } = layout,
    range = visibleRange(viewport, layout, matrix);
  const x = (column) => left + column * cell - viewport.x,
    y = (row) => top + row * cell - viewport.y;
  const area = { x, y, cell, ...range };
  clipped(context, left, top, viewport.width - left, viewport.height - top, () => {
    context.imageSmoothingEnabled = false;
    context.drawImage(matrix.image, x(0), y(0), cell * matrix.columns.length, cell * matrix.rows.length);
    if (matrix.mask) paintMask(context, area, matrix.mask, matrix.columns.length, theme);
    if (cell >= 10) paintGrid(context, area, theme);
    if (cell >= NUMBER_CELL) paintNumbers(context, area, matrix, theme);
    if (hovered) paintHovered(context, area, matrix, hovered, theme);
  });
  paintRowLabels(context, viewport, area, matrix, layout, hovered, theme);
  paintColumnLabels(context, viewport, area, matrix, layout, hovered, theme);
};

const labelFont = (theme, size, isHovered) => font(theme.sans, size, isHovered ? 650 : 400);
/** Labels must not overlap: draw every n-th. @param {number} cell */
const labelStride = (cell) => Math.ceil(11 / cell);

const paintRowLabels = (
  context,
  viewport,
  { y, cell, firstRow, lastRow },
  { rows },
  { left, top, size },
  hovered,
  theme,
) => {
  clipped(context, 0, top, left, viewport.height - top, () => {
    const stride = labelStride(cell);
    for (let row = firstRow - (firstRow % stride); row < lastRow; row += stride) {
      const isHovered = hovered?.row === row;
      context.font = labelFont(theme, size, isHovered);
      drawLabel(
        context,
        rows[row],
        left - 8,
        y(row) + cell / 2,
        "right",
        isHovered ? theme.accent : theme.ink,
        theme.quiet,
      );
    }
  });
};

const paintColumnLabels = (
  context,
  viewport,
  { x, cell, firstColumn, lastColumn },
  { columns },
  layout,
  hovered,
  theme,
) => {
  const { left, top, size, horizontal } = layout,
    stride = labelStride(cell);
  clipped(context, left - 4, 0, viewport.width, top, () => {
    const from = Math.max(0, firstColumn - Math.ceil(top / cell)); // rotated labels further left reach into view
    for (let column = from - (from % stride); column < lastColumn; column += stride) {
      const isHovered = hovered?.column === column;
      context.font = labelFont(theme, size, isHovered);
      context.save();
      context.translate(x(column) + cell / 2, horizontal ? top - 13 : top - 8);
      if (!horizontal) context.rotate(-Math.PI / 3);
      const align = horizontal ? "center" : "left";
      drawLabel(context, columns[column], 0, 0, align, isHovered ? theme.accent : theme.ink, theme.quiet);
      context.restore();
    }
  });
};

/**
 * Return a pattern of diagonal lines.
 * @param {CanvasRenderingContext2D} context
 * @param {string} ink
 * @param {number} step distance of the lines
 */
const hatchPattern = (context, ink, step) => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = step;
  const lines = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  lines.strokeStyle = ink;
  lines.globalAlpha = 0.6;
  lines.lineWidth = step / HATCH_STEP;
  lines.beginPath();
  for (const offset of [-step, 0, step]) {
    lines.moveTo(offset - 1, step + 1);
    lines.lineTo(offset + step + 1, -1);
  }
  lines.stroke();
  return /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
};

/**
 * Return the runs of masked cells as [row, first column, column after the last].
 * @param {ArrayLike<number>} mask
 * @param {number} columns
 * @param {{firstRow: number, lastRow: number, firstColumn: number, lastColumn: number}} range
 */
export const maskedRuns = (mask, columns, { firstRow, lastRow, firstColumn, lastColumn }) => {
  /** @type {[number, number, number][]} */
  const runs = [];
  for (let row = firstRow; row < lastRow; row++) {
    for (let column = firstColumn; column < lastColumn; column++) {
      if (!mask[row * columns + column]) continue;
      const start = column;
      while (column < lastColumn && mask[row * columns + column]) column++;
      runs.push([row, start, column]);
    }
  }
  return runs;
};

/**
 * Hatch the masked cells on plain paper, so that none looks like a small weight.
 * @param {CanvasRenderingContext2D} context
 * @param {{x: (column: number) => number, y: (row: number) => number, firstRow: number, lastRow: number,
 *   firstColumn: number, lastColumn: number}} area
 * @param {ArrayLike<number>} mask
 * @param {number} columns
 * @param {import("./canvas_text.js").Theme} theme
 * @param {number} [step] distance of the lines
 */
export const paintMask = (context, area, mask, columns, theme, step = HATCH_STEP) => {
  const hatch = hatchPattern(context, theme.quiet, step),
    { x, y } = area;
  for (const [row, start, end] of maskedRuns(mask, columns, area)) {
    for (const style of [theme.paper, hatch]) {
      context.fillStyle = style;
      context.fillRect(x(start), y(row), x(end) - x(start), y(row + 1) - y(row));
    }
  }
};

const paintGrid = (context, { x, y, firstColumn, lastColumn, firstRow, lastRow }, theme) => {
  context.fillStyle = theme.paper;
  for (let column = firstColumn; column <= lastColumn; column++) {
    context.fillRect(x(column) - 0.5, y(firstRow), 1, y(lastRow) - y(firstRow));
  }
  for (let row = firstRow; row <= lastRow; row++) {
    context.fillRect(x(firstColumn), y(row) - 0.5, x(lastColumn) - x(firstColumn), 1);
  }
};

/** Return the number in a cell: two decimals, without the zero before the point. @param {number} value */
export const cellNumber = (value) => {
  const text = Math.abs(value).toFixed(2);
  return (value < 0 && Number(text) ? "−" : "") + text.replace(/^0\./, ".");
};

const paintNumbers = (context, { x, y, cell, firstColumn, lastColumn, firstRow, lastRow }, matrix, theme) => {
  const { values, columns, max, scale, mask } = matrix;
  context.font = font(theme.sans, cell >= 50 ? 13 : 12);
  context.textAlign = "center";
  for (let row = firstRow; row < lastRow; row++) {
    for (let column = firstColumn; column < lastColumn; column++) {
      const index = row * columns.length + column,
        value = values[index];
      if (Math.abs(value) < 0.005 || mask?.[index]) continue;
      context.fillStyle = textColorOn(colorOf(value, max, scale));
      context.fillText(cellNumber(value), x(column) + cell / 2, y(row) + cell / 2 + 0.5);
    }
  }
};

const paintHovered = (context, { x, y, cell }, { columns, rows }, { row, column }, theme) => {
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.globalAlpha = row !== null && column !== null ? 0.45 : 1;
  if (row !== null) context.strokeRect(x(0), y(row), cell * columns.length, cell);
  if (column !== null) context.strokeRect(x(column), y(0), cell, cell * rows.length);
  context.globalAlpha = 1;
  if (row === null || column === null) return;
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.strokeRect(x(column), y(row), cell, cell);
};

/**
 * Return the cell at a point, or only its row or column on a label; null outside.
 * @param {number} x
 * @param {number} y
 * @param {{scrollLeft: number, scrollTop: number}} scroll
 * @param {{rows: string[], columns: string[]}} matrix
 * @param {HeatmapLayout} layout
 * @returns {Cell | null}
 */
export const heatmapCellAt = (x, y, { scrollLeft, scrollTop }, { rows, columns }, layout) => {
  const column = x < layout.left ? null : Math.floor((x + scrollLeft - layout.left) / layout.cell);
  const row = y < layout.top ? null : Math.floor((y + scrollTop - layout.top) / layout.cell);
  const outside = (index, count) => index !== null && index >= count;
  if ((column === null && row === null) || outside(column, columns.length) || outside(row, rows.length)) return null;
  return { row, column };
};
