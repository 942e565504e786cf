/** Canvas of the selected head: drawing, zoom, hover by mouse, touch or keys, saving as an image. */
import { lineTokenAt, linesLayout, paintLines } from "./attention_lines.js";
import { displayToken, themeColors } from "./canvas_text.js";
import { $, ARROWS, hasNoModifier, make, oncePerFrame, onWidthChange, saveBlob } from "./dom.js";
import { clamp } from "./format.js";
import { heatmapCellAt, heatmapLayout, paintHeatmap } from "./heatmap.js";

/** @typedef {import("./heatmap.js").Matrix} Matrix */
/** @typedef {import("./heatmap.js").Cell} Cell */

/** Largest side of a saved image in pixels: browsers limit the size of a canvas. */
const MAX_IMAGE_SIDE = 8192;
const VIEWS = {
  heatmap: { layoutOf: heatmapLayout, paint: paintHeatmap, cellAt: heatmapCellAt },
  lines: { layoutOf: linesLayout, paint: paintLines, cellAt: lineTokenAt },
};

/**
 * Return the text of a hovered cell, row or column, and its value.
 * @param {Matrix} matrix
 * @param {Cell} cell
 * @param {(row: number, column: number) => string} masked returns the text of a masked cell
 * @returns {[string, string]}
 */
export const describeCell = ({ values, rows, columns, mask }, { row, column }, masked) => {
  const indexOf = (r, c) => r * columns.length + c;
  if (row !== null && column !== null) {
    const index = indexOf(row, column),
      title = `${displayToken(rows[row])} → ${displayToken(columns[column])}`;
    return [title, mask?.[index] ? masked(row, column) : values[index].toFixed(4)];
  }
  const pairs =
    row !== null
      ? columns.map((text, c) => ({ text, value: values[indexOf(row, c)] }))
      : rows.map((text, r) => ({ text, value: values[indexOf(r, column)] }));
  const largest = pairs
    .sort((a, b) => b.value - a.value)
    .slice(0, 4)
    .filter(({ value }) => value >= 0.0005);
  const list = largest.map(({ text, value }) => `${displayToken(text)} ${value.toFixed(3)}`).join(", ");
  return row !== null
    ? [`${displayToken(rows[row])} → ${list}`, ""]
    : [`${displayToken(columns[/** @type {number} */ (column)])} ← ${list}`, ""];
};

/**
 * Return the cell after an arrow key.
 * @param {"heatmap" | "lines"} view
 * @param {Cell | null} hovered
 * @param {[number, number]} direction [rows down, columns right]
 * @param {{rows: string[], columns: string[]}} matrix
 * @returns {Cell}
 */
export const moveCell = (view, hovered, [down, right], { rows, columns }) => {
  if (view === "heatmap") {
    const isCell = hovered && hovered.row !== null && hovered.column !== null;
    const [row, column] = isCell ? [Number(hovered.row) + down, Number(hovered.column) + right] : [0, 0];
    return { row: clamp(row, 0, rows.length - 1), column: clamp(column, 0, columns.length - 1) };
  }
  const onColumns = right ? right > 0 : hovered !== null && hovered.column !== null;
  const i = clamp(
    (hovered ? (hovered.column ?? Number(hovered.row)) : -1) + down,
    0,
    (onColumns ? columns : rows).length - 1,
  );
  return onColumns ? { row: null, column: i } : { row: i, column: null };
};

/**
 * @typedef {object} Shown what the canvas shows
 * @property {"heatmap" | "lines"} view
 * @property {number} zoom 0 fits all cells
 * @property {Cell | null} hovered
 * @property {any} layout
 * @property {Matrix | null} matrix
 */

/** @param {Shown} shown @param {CanvasRenderingContext2D} context */
const paint = ({ view, matrix, layout, hovered }, context, viewport) => {
  const theme = themeColors();
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, viewport.width, viewport.height);
  context.textBaseline = "middle";
  VIEWS[view].paint(context, viewport, { matrix: /** @type {Matrix} */ (matrix), layout, hovered, theme });
};

/** Lay out the matrix; the sheet gets its size, the canvas that of the visible part. @param {Shown} shown */
const layOut = (shown, element) => {
  const width = element("detail").clientWidth - 16,
    height = innerHeight * 0.8; // leaves space for a scroll bar
  const layout = VIEWS[shown.view].layoutOf(/** @type {Matrix} */ (shown.matrix), width, height, shown.zoom);
  const stage = element("stage"),
    sheet = element("sheet"),
    canvas = element("picture"),
    density = devicePixelRatio || 1;
  sheet.style.width = `${layout.width}px`;
  sheet.style.height = `${layout.height}px`;
  const visible = {
    width: Math.min(stage.clientWidth, layout.width),
    height: Math.min(stage.clientHeight, layout.height),
  };
  canvas.width = Math.round(visible.width * density);
  canvas.height = Math.round(visible.height * density);
  canvas.style.width = `${visible.width}px`;
  canvas.style.height = `${visible.height}px`;
  shown.layout = { ...layout, visible };
};

/** @param {Shown} shown @returns {Cell | null} */
const cellUnderPointer = ({ view, matrix, layout }, stage, event) => {
  if (!matrix) return null;
  const box = stage.getBoundingClientRect(),
    x = event.clientX - box.left,
    y = event.clientY - box.top;
  if (x > layout.visible.width || y > layout.visible.height) return null;
  return VIEWS[view].cellAt(x, y, stage, matrix, layout);
};

/** Scroll to the hovered cell; returns where its tooltip belongs, null for lines. @param {Shown} shown */
const scrollToHovered = ({ view, hovered, layout }, stage) => {
  const { row, column } = /** @type {Cell} */ (hovered);
  if (view === "lines") {
    const { step, start } = layout.sides[column === null ? "row" : "column"],
      y = start + step * Number(column ?? row);
    stage.scrollTop = clamp(stage.scrollTop, y + step - layout.visible.height, y);
    return null;
  }
  const { left, top, cell } = layout,
    x = Number(column) * cell,
    y = Number(row) * cell;
  stage.scrollTop = clamp(stage.scrollTop, y + cell - (layout.visible.height - top), y);
  stage.scrollLeft = clamp(stage.scrollLeft, x + cell - (layout.visible.width - left), x);
  const box = stage.getBoundingClientRect();
  return [box.left + left + x - stage.scrollLeft + cell, box.top + top + y - stage.scrollTop + cell];
};

/** Put the tooltip beside a point of the window. */
const placeTooltip = (tip, x, y) => {
  const left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${clamp(y + 18, 4, innerHeight - tip.offsetHeight - 4)}px`;
};

/** Save the whole picture. @param {Shown} shown @param {string} name of the file */
const saveImage = (shown, name) => {
  const { layout } = shown,
    canvas = document.createElement("canvas"),
    density = Math.min(2, MAX_IMAGE_SIDE / Math.max(layout.width, layout.height));
  canvas.width = Math.round(layout.width * density);
  canvas.height = Math.round(layout.height * density);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(density, density);
  paint(shown, context, { x: 0, y: 0, width: layout.width, height: layout.height });
  canvas.toBlob((blob) => {
    if (blob) saveBlob(blob, name);
  });
};

/** Hover by mouse, touch or keys. @param {Shown} shown */
const listenToCells = (shown, stage, { hover, showTooltip }, signal) => {
  const listen = (kind, react) => stage.addEventListener(kind, react, { signal });
  const point = (event) => {
    hover(cellUnderPointer(shown, stage, event));
    showTooltip(event.clientX, event.clientY);
  };
  listen("pointermove", point);
  listen("pointerdown", point);
  listen("pointerleave", (event) => {
    if (event.pointerType === "mouse") hover(null);
  });
  listen("blur", () => hover(null));
  listen("keydown", (event) => {
    if (event.key === "Escape" && shown.hovered) {
      event.preventDefault();
      hover(null);
      return;
    }
    if (!ARROWS[event.key] || !hasNoModifier(event) || !shown.matrix) return;
    event.preventDefault();
    hover(moveCell(shown.view, shown.hovered, ARROWS[event.key], shown.matrix));
    const place = scrollToHovered(shown, stage);
    if (place) showTooltip(place[0], place[1]);
  });
};

/**
 * Texts about the hovered cell: the line above the picture and the tooltip.
 * @param {Shown} shown
 * @param {(id: string) => any} element
 * @param {() => {hint: string, masked: (row: number, column: number) => string}} words
 */
const hoverTexts = (shown, element, words) => {
  const hoveredText = () =>
    describeCell(/** @type {Matrix} */ (shown.matrix), /** @type {Cell} */ (shown.hovered), words().masked);
  const showHovered = () => {
    const readout = element("readout");
    readout.classList.toggle("quiet", !shown.hovered);
    readout.textContent = shown.hovered ? hoveredText().join("  ") : words().hint;
    if (!shown.hovered) element("tip").hidden = true;
  };
  const showTooltip = (x, y) => {
    const tip = element("tip"),
      { hovered, view } = shown;
    tip.hidden = !hovered || view === "lines" || hovered.row === null || hovered.column === null;
    if (tip.hidden) return;
    const [text, value] = hoveredText();
    tip.replaceChildren(make("span", { text }), make("b", { text: value }));
    placeTooltip(tip, x, y);
  };
  return { showHovered, showTooltip };
};

/** Buttons of the zoom. @param {Shown} shown @param {(id: string) => any} element @param {() => void} resize */
const listenToZoom = (shown, element, resize, signal) => {
  const setZoom = (next) => {
    shown.zoom = next && clamp(next, 0.2, 4);
    shown.hovered = null;
    resize();
  };
  element("smaller").addEventListener("click", () => setZoom((shown.zoom || 1) / 1.25), { signal });
  element("larger").addEventListener("click", () => setZoom((shown.zoom || 0.8) * 1.25), { signal });
  element("fit").addEventListener("click", () => setZoom(0), { signal });
};

/**
 * @param {ParentNode} root holds #detail, #stage, #sheet, #picture, #readout, #tip, #smaller, #larger and #fit
 * @param {() => {hint: string, masked: (row: number, column: number) => string}} words
 * @param {AbortSignal} [signal]
 */
export const headCanvas = (root, words, signal) => {
  const element = (id) => $(id, root),
    stage = element("stage");
  /** @type {Shown} */
  const shown = { view: "heatmap", zoom: 1, hovered: null, layout: null, matrix: null };
  const { showHovered, showTooltip } = hoverTexts(shown, element, words);

  const redraw = () => {
    if (!shown.matrix || !shown.layout) return;
    const context = element("picture").getContext("2d"),
      density = devicePixelRatio || 1;
    context.setTransform(density, 0, 0, density, 0, 0);
    paint(shown, context, { x: stage.scrollLeft, y: stage.scrollTop, ...shown.layout.visible });
  };
  const scheduleRedraw = oncePerFrame(redraw);
  const resize = () => {
    if (!shown.matrix) return;
    layOut(shown, element);
    redraw();
    showHovered();
  };
  const hover = (next) => {
    if (JSON.stringify(next) === JSON.stringify(shown.hovered)) return;
    shown.hovered = next;
    scheduleRedraw();
    showHovered();
  };

  listenToZoom(shown, element, resize, signal);
  listenToCells(shown, stage, { hover, showTooltip }, signal);
  stage.addEventListener("scroll", scheduleRedraw, { passive: true, signal });
  onWidthChange(element("detail"), resize, signal);
  return {
    /** @param {Matrix} matrix @param {"heatmap" | "lines"} view */
    show: (matrix, view) => {
      Object.assign(shown, { matrix, view });
      resize();
    },
    clearHover: () => {
      shown.hovered = null;
    },
    /** @param {string} name */
    save: (name) => {
      if (shown.view !== "lines") shown.hovered = null;
      saveImage(shown, name);
    },
  };
};
