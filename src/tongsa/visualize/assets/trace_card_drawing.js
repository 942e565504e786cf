/** The picture of a card: its layout, the numbers that it shows, and what is marked in it. */
import { maxLabelWidth } from "./canvas_text.js";
import { cellText as shortNumber, paintCard } from "./trace_canvas.js";
import { axisLabels, axisNames, cardLayout, drawnRows, grownLength, hasColumnLabels } from "./trace_layout.js";
import { magnitude, matrixOf, rectangleOf } from "./trace_tensor.js";

/** Wide vectors have outliers: the colors end at this share of the values. */
const COLOR_SHARE = 0.98;
/** With more columns than this, a card shows wide vectors. */
const WIDE = 24;

/** The matrix that a card shows: the last two axes, of the chosen head. */
export const cardMatrix = (app, { meta, slices }) => matrixOf(meta, { ...slices, head: app.state.head - 1 });

/** Rows, columns and sizes of the picture for a width. */
export const layOutCard = (app, card, width) => {
  const { meta } = card,
    part = cardMatrix(app, card),
    { data } = app.store(),
    hasLabels = hasColumnLabels(meta, part),
    { hop } = app.labels().axes,
    rowNames = axisNames(data, meta, part.rowAxis, hop),
    columnNames = axisNames(data, meta, part.columnAxis, hop);
  const content = {
    rows: drawnRows(meta, part, app.state.token),
    columns: part.columns,
    hasLabels,
    rowLabelWidth: part.rows > 1 || axisLabels(meta, part.rowAxis) ? maxLabelWidth(rowNames, 12) : 0,
    columnLabelWidth: hasLabels ? maxLabelWidth(columnNames, 12) : 0,
  };
  const grown = (axis, length) => grownLength(meta, axis, length, app.state.step);
  return {
    part,
    layout: cardLayout(content, width),
    rowNames,
    columnNames,
    columns: part.columns,
    grown: { rows: grown(part.rowAxis, part.rows), columns: grown(part.columnAxis, part.columns) },
  };
};

/** Numbers that are shown: those of this trace, or the difference from the other one. */
export const shownNumbers = (app, { loaded, alternative }) => {
  if (app.state.compare === "difference" && alternative?.data?.length === loaded.data.length) {
    return loaded.data.map((value, i) => (value === alternative.data[i] ? 0 : value - alternative.data[i]));
  }
  return loaded.data;
};

/** Put the numbers of the drawn rows into the drawing; return the ends of the color scale as text. */
export const fillDrawing = (app, card) => {
  const { drawing, loaded } = card,
    { part, layout } = drawing,
    shown = shownNumbers(app, card),
    { masked } = loaded;
  drawing.values = new Float32Array(layout.rows.length * part.columns);
  layout.rows.forEach((row, i) => {
    for (let c = 0; c < part.columns; c++) drawing.values[i * part.columns + c] = shown[part.flat(row, c)];
  });
  drawing.masked = masked ? (i, column) => masked[part.flat(layout.rows[i], column)] === 1 : null;
  drawing.max = magnitude(shown, part.columns > WIDE ? COLOR_SHARE : 1);
  const isSigned = shown.some((value) => value < 0 && value !== -Infinity);
  return [isSigned ? shortNumber(-drawing.max) : "0", shortNumber(drawing.max)];
};

/** What is outlined: operands and uses of the pointed number, the number itself, the row of the token. */
const cardMarks = (app, { id, meta, drawing: { part } }) => {
  const { cell, pinned, token, step } = app.state,
    regions = app.regions(),
    rowLabel = axisLabels(meta, part.rowAxis);
  const ownRegion = (at) => (at?.tensor === id ? rectangleOf(part, at.index) : null);
  const rectangles = (found) =>
    found
      .filter(({ tensor }) => tensor === id)
      .map(({ region }) => rectangleOf(part, region))
      .filter(Boolean);
  return {
    reads: rectangles(regions.reads),
    usedBy: rectangles(regions.usedBy),
    pointed: ownRegion(cell),
    pinned: ownRegion(pinned),
    row: token && rowLabel === token.side ? token.i : rowLabel === "target" && !token ? step - 1 : null,
  };
};

/** Give the canvas the size of the drawing. */
export const resizeCanvas = (canvas, { layout }) => {
  const density = devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * density);
  canvas.height = Math.round(layout.height * density);
  canvas.style.width = `${layout.width}px`;
  canvas.style.height = `${layout.height}px`;
};

/** Paint numbers and marks. */
export const paintDrawing = (app, canvas, card) => {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")),
    density = devicePixelRatio || 1;
  context.setTransform(density, 0, 0, density, 0, 0);
  paintCard(context, card.drawing, cardMarks(app, card), app.theme());
};
