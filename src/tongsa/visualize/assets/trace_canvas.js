/** The picture of one tensor: colors, numbers, masked cells, and outlines of what the pointed number reads. */
import { drawLabel, font } from "./canvas_text.js";
import { bitmap, colorOf, textColorOn } from "./colors.js";
import { number } from "./trace_attention_terms.js";

const HATCH_STEP = 6;

const hatch = (context, ink) => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = HATCH_STEP;
  const lines = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  lines.strokeStyle = ink;
  lines.globalAlpha = 0.6;
  lines.beginPath();
  for (const offset of [-HATCH_STEP, 0, HATCH_STEP]) {
    lines.moveTo(offset - 1, HATCH_STEP + 1);
    lines.lineTo(offset + HATCH_STEP + 1, -1);
  }
  lines.stroke();
  return context.createPattern(tile, "repeat");
};

/** A number short enough for a cell. */
export const cellText = (value) => {
  if (value === -Infinity) return "−∞";
  const size = Math.abs(value),
    text = size >= 1000 ? size.toExponential(0) : size >= 100 ? size.toFixed(0) : size.toFixed(2);
  return value < 0 && Number(text) ? `−${text}` : text;
};

/**
 * Paint a card.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {any} card numbers by row and column, names, layout, `grown` (rows and columns that exist at this step)
 * @param {{reads: number[][], usedBy: number[][], pointed: number[] | null, pinned: number[] | null,
 *   row: number | null}} marks rectangles
 * @param {any} theme
 */
export const paintCard = (context, card, marks, theme) => {
  const { layout, grown } = card;
  context.clearRect(0, 0, layout.width, layout.height);
  context.textBaseline = "middle";
  const x = (column) => layout.left + column * layout.cellWidth,
    y = (row) => layout.top + row * layout.cellHeight;
  paintCells(context, card, x, y);
  paintHidden(context, card, x, y, theme);
  if (layout.numbers) paintNumbers(context, card, x, y, theme);
  paintLabels(context, card, x, y, marks, theme);
  const place = ([row, column, height, width]) => {
    const first = layout.rows.indexOf(height > 1 ? layout.rows[0] : row),
      drawn = layout.rows.filter((i) => i < grown.rows).length;
    if (first < 0 || row >= grown.rows || column >= grown.columns) return null;
    return [
      x(column),
      y(first),
      layout.cellWidth * Math.min(width, grown.columns),
      layout.cellHeight * (height > 1 ? drawn : 1),
    ];
  };
  const outline = (rectangle, color, width, dash = []) => {
    const box = rectangle && place(rectangle);
    if (!box) return;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.strokeRect(box[0] - 0.5, box[1] - 0.5, Math.max(3, box[2] + 1), Math.max(3, box[3] + 1));
    context.setLineDash([]);
  };
  if (marks.row !== null && layout.rows.includes(marks.row))
    outline([marks.row, 0, 1, grown.columns], theme.accent, 1.5);
  for (const rectangle of marks.reads) outline(rectangle, theme.ink, 2);
  for (const rectangle of marks.usedBy) outline(rectangle, theme.ink, 1.25, [2, 3]);
  outline(marks.pinned, theme.doubt, 2.5);
  outline(marks.pointed, theme.ink, 2.5);
};

const paintCells = (context, card, x, y) => {
  const { layout, columns, values, max } = card;
  card.image ??= bitmap(values, layout.rows.length, columns, max, "diverging");
  context.imageSmoothingEnabled = false;
  context.drawImage(card.image, x(0), y(0), layout.cellWidth * columns, layout.cellHeight * layout.rows.length);
};

/** Masked cells are hatched; what does not exist yet at this step is left empty. */
const paintHidden = (context, { layout, columns, masked, grown }, x, y, theme) => {
  const pattern = hatch(context, theme.quiet);
  layout.rows.forEach((row, i) => {
    for (let column = 0; column < columns; column++) {
      const isEmpty = row >= grown.rows || column >= grown.columns,
        isMasked = !isEmpty && masked?.(i, column);
      if (!isEmpty && !isMasked) continue;
      context.fillStyle = theme.surface;
      context.fillRect(x(column) - 0.5, y(i) - 0.5, layout.cellWidth + 1, layout.cellHeight + 1);
      if (!isMasked) continue;
      context.fillStyle = pattern;
      context.fillRect(x(column), y(i), layout.cellWidth, layout.cellHeight);
    }
  });
  if (layout.cellWidth < 12) return;
  context.fillStyle = theme.surface;
  for (let column = 1; column < columns; column++)
    context.fillRect(x(column) - 0.5, y(0), 1, y(layout.rows.length) - y(0));
  for (let i = 1; i < layout.rows.length; i++) context.fillRect(x(0), y(i) - 0.5, x(columns) - x(0), 1);
};

const paintNumbers = (context, { layout, columns, values, max, masked, grown }, x, y, theme) => {
  context.font = font(theme.sans, 12);
  context.textAlign = "center";
  layout.rows.forEach((row, i) => {
    if (row >= grown.rows) return;
    for (let column = 0; column < Math.min(columns, grown.columns); column++) {
      if (masked?.(i, column)) continue;
      const value = values[i * columns + column];
      context.fillStyle = textColorOn(colorOf(value, max, "diverging"));
      context.fillText(cellText(value), x(column) + layout.cellWidth / 2, y(i) + layout.cellHeight / 2 + 0.5);
    }
  });
};

const paintLabels = (context, { layout, columns, rowNames, columnNames, grown }, x, y, marks, theme) => {
  const rowStep = Math.ceil(11 / layout.cellHeight),
    columnStep = Math.ceil(12 / layout.cellWidth);
  layout.rows.forEach((row, i) => {
    if (i % rowStep || !layout.left) return;
    const isMarked = row === marks.row || marks.pointed?.[0] === row;
    context.font = font(theme.sans, 12, isMarked ? 650 : 400);
    context.globalAlpha = row < grown.rows ? 1 : 0.45;
    drawLabel(
      context,
      rowNames[row],
      layout.left - 6,
      y(i) + layout.cellHeight / 2,
      "right",
      isMarked ? theme.accent : theme.ink,
      theme.quiet,
    );
    context.globalAlpha = 1;
  });
  if (layout.top < 10) return;
  for (let column = 0; column < columns; column += columnStep) {
    context.save();
    context.font = font(theme.sans, 12, marks.pointed?.[1] === column ? 650 : 400);
    context.globalAlpha = column < grown.columns ? 1 : 0.45;
    context.translate(x(column) + layout.cellWidth / 2, layout.rotated ? layout.top - 7 : layout.top - 11);
    if (layout.rotated) context.rotate(-Math.PI / 3);
    drawLabel(context, columnNames[column], 0, 0, layout.rotated ? "left" : "center", theme.ink, theme.quiet);
    context.restore();
  }
};

/** A value as text, or that it is masked. */
export const valueText = (value, isMasked, labels) =>
  isMasked ? `${number(value)} (${labels.masked})` : number(value);
