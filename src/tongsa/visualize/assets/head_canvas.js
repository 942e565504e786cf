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
 * @param {ParentNode} root holds #detail, #stage, #sheet, #picture, #readout, #tip, #smaller, #larger and #fit
 * @param {() => {hint: string, masked: (row: number, column: number) => string}} words
 * @param {AbortSignal} [signal]
 */
export const headCanvas = (root, words, signal) => {
  const element = (id) => $(id, root),
    stage = element("stage");
  /** @type {"heatmap" | "lines"} */
  let view = "heatmap";
  let zoom = 1;
  /** @type {Cell | null} */
  let hovered = null;
  /** @type {any} */
  let layout = null;
  /** @type {Matrix | null} */
  let matrix = null;

  // ── drawing ──
  const resize = () => {
    if (!matrix) return;
    const width = element("detail").clientWidth - 16,
      height = innerHeight * 0.8; // leaves space for a scroll bar
    layout = VIEWS[view].layoutOf(matrix, width, height, zoom);
    const sheet = element("sheet"),
      canvas = element("picture"),
      density = devicePixelRatio || 1;
    sheet.style.width = `${layout.width}px`;
    sheet.style.height = `${layout.height}px`;
    layout.visible = {
      width: Math.min(stage.clientWidth, layout.width),
      height: Math.min(stage.clientHeight, layout.height),
    };
    canvas.width = Math.round(layout.visible.width * density);
    canvas.height = Math.round(layout.visible.height * density);
    canvas.style.width = `${layout.visible.width}px`;
    canvas.style.height = `${layout.visible.height}px`;
    redraw();
    showHovered();
  };
  const redraw = () => {
    if (!matrix || !layout) return;
    const context = element("picture").getContext("2d"),
      density = devicePixelRatio || 1;
    context.setTransform(density, 0, 0, density, 0, 0);
    paint(context, { x: stage.scrollLeft, y: stage.scrollTop, ...layout.visible });
  };
  const scheduleRedraw = oncePerFrame(redraw);
  const paint = (context, viewport) => {
    const theme = themeColors();
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, viewport.width, viewport.height);
    context.textBaseline = "middle";
    VIEWS[view].paint(context, viewport, { matrix: /** @type {Matrix} */ (matrix), layout, hovered, theme });
  };

  // ── hover by mouse, touch or keys ──
  const cellUnderPointer = (event) => {
    if (!matrix) return null;
    const box = stage.getBoundingClientRect(),
      x = event.clientX - box.left,
      y = event.clientY - box.top;
    if (x > layout.visible.width || y > layout.visible.height) return null;
    return VIEWS[view].cellAt(x, y, stage, matrix, layout);
  };
  const hoveredText = () => describeCell(/** @type {Matrix} */ (matrix), /** @type {Cell} */ (hovered), words().masked);
  const hover = (next) => {
    if (JSON.stringify(next) === JSON.stringify(hovered)) return;
    hovered = next;
    scheduleRedraw();
    showHovered();
  };
  const showHovered = () => {
    const readout = element("readout");
    readout.classList.toggle("quiet", !hovered);
    readout.textContent = hovered ? hoveredText().join("  ") : words().hint;
    if (!hovered) element("tip").hidden = true;
  };
  const showTooltip = (x, y) => {
    const tip = element("tip");
    tip.hidden = !hovered || view === "lines" || hovered.row === null || hovered.column === null;
    if (tip.hidden) return;
    const [text, value] = hoveredText();
    tip.replaceChildren(make("span", { text }), make("b", { text: value }));
    const left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${clamp(y + 18, 4, innerHeight - tip.offsetHeight - 4)}px`;
  };
  const moveByKey = (event) => {
    if (event.key === "Escape" && hovered) {
      event.preventDefault();
      hover(null);
      return;
    }
    if (!ARROWS[event.key] || !hasNoModifier(event) || !matrix) return;
    event.preventDefault();
    hover(moveCell(view, hovered, ARROWS[event.key], matrix));
    scrollToHovered();
  };
  const scrollToHovered = () => {
    const { row, column } = /** @type {Cell} */ (hovered);
    if (view === "lines") {
      const { step, start } = layout.sides[column === null ? "row" : "column"],
        y = start + step * Number(column ?? row);
      stage.scrollTop = clamp(stage.scrollTop, y + step - layout.visible.height, y);
      return;
    }
    const { left, top, cell } = layout,
      x = Number(column) * cell,
      y = Number(row) * cell;
    stage.scrollTop = clamp(stage.scrollTop, y + cell - (layout.visible.height - top), y);
    stage.scrollLeft = clamp(stage.scrollLeft, x + cell - (layout.visible.width - left), x);
    const box = stage.getBoundingClientRect();
    showTooltip(box.left + left + x - stage.scrollLeft + cell, box.top + top + y - stage.scrollTop + cell);
  };

  const save = (name) => {
    const canvas = document.createElement("canvas");
    const density = Math.min(2, MAX_IMAGE_SIDE / Math.max(layout.width, layout.height));
    canvas.width = Math.round(layout.width * density);
    canvas.height = Math.round(layout.height * density);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(density, density);
    hovered = view === "lines" ? hovered : null;
    paint(context, { x: 0, y: 0, width: layout.width, height: layout.height });
    canvas.toBlob((blob) => {
      if (blob) saveBlob(blob, name);
    });
  };
  const setZoom = (next) => {
    zoom = next && clamp(next, 0.2, 4); // 0 fits all cells
    hovered = null;
    resize();
  };

  element("smaller").addEventListener("click", () => setZoom((zoom || 1) / 1.25), { signal });
  element("larger").addEventListener("click", () => setZoom((zoom || 0.8) * 1.25), { signal });
  element("fit").addEventListener("click", () => setZoom(0), { signal });
  stage.addEventListener("keydown", moveByKey, { signal });
  for (const kind of ["pointermove", "pointerdown"]) {
    stage.addEventListener(
      kind,
      (event) => {
        hover(cellUnderPointer(event));
        showTooltip(event.clientX, event.clientY);
      },
      { signal },
    );
  }
  stage.addEventListener(
    "pointerleave",
    (event) => {
      if (event.pointerType === "mouse") hover(null);
    },
    { signal },
  );
  stage.addEventListener("blur", () => hover(null), { signal });
  stage.addEventListener("scroll", scheduleRedraw, { passive: true, signal });
  onWidthChange(element("detail"), resize, signal);
  return {
    /** @param {Matrix} nextMatrix @param {"heatmap" | "lines"} nextView */
    show: (nextMatrix, nextView) => {
      matrix = nextMatrix;
      view = nextView;
      resize();
    },
    clearHover: () => {
      hovered = null;
    },
    save,
  };
};
