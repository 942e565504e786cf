/** One card: the picture of a tensor, its equation and its check. */
import { maxLabelWidth } from "./canvas_text.js";
import { ARROWS, hasNoModifier, make, onWidthChange } from "./dom.js";
import { cellText as shortNumber, paintCard } from "./trace_canvas.js";
import { cardData, cardTitle } from "./trace_card_data.js";
import {
  axisLabels,
  axisNames,
  cardLayout,
  cardWidth,
  cellAt,
  drawnRows,
  grownLength,
  hasColumnLabels,
  movedIndex,
} from "./trace_layout.js";
import { lensLine } from "./trace_lens.js";
import { formulaElement } from "./trace_math.js";
import { magnitude, matrixOf, rectangleOf } from "./trace_tensor.js";

/** Wide vectors have outliers: the colors end at this share of the values. */
const COLOR_SHARE = 0.98;

/**
 * @param {any} app the panel: store, state, labels, point, pin, theme
 * @param {string} id of the tensor
 */
export const traceCard = (app, id, signal) => {
  const meta = app.store().meta(id),
    equation = app.store().equation(id),
    labels = app.labels();
  const slices = Object.fromEntries(
    meta.axes
      .slice(0, -2)
      .filter((axis) => axis !== "head")
      .map((axis) => [axis, 0]),
  );
  const canvas = make("canvas", { "aria-hidden": true });
  const plot = make("div", { class: "plot", tabindex: 0, role: "application" }, canvas);
  const check = make("span", { class: "check" }),
    shape = make("span", { class: "quiet small figure" }),
    legend = make("span", { class: "quiet small figure" });
  const body = make("div", { class: "more-body" });
  const more = make("details", { class: "more" }, make("summary", { text: labels.data }), body);
  const lens = lensLine(app, id);
  const heading = make("h4", { text: cardTitle(app, id) });
  const element = make(
    "section",
    { class: "card", "data-tensor": id, "aria-label": cardTitle(app, id) },
    make(
      "div",
      { class: "card-head" },
      heading,
      ...(equation.formula ? [make("span", { class: "line" }, formulaElement(equation.formula))] : []),
      check,
      shape,
    ),
    ...sliceChoosers(meta, slices, labels, () => refresh(), signal),
    plot,
    lens.element,
    make("div", { class: "card-foot" }, legend, more),
  );
  /** @type {any} */
  let loaded = null;
  /** @type {any} */
  let alternative = null;
  /** @type {any} */
  let drawing = null;
  let isVisible = false;

  const matrix = () => matrixOf(meta, { ...slices, head: app.state.head - 1 });
  /** Numbers shown: those of this trace, or the difference from the other one. */
  const numbers = () => {
    if (app.state.compare === "difference" && alternative?.data?.length === loaded.data.length) {
      return loaded.data.map((value, i) => (value === alternative.data[i] ? 0 : value - alternative.data[i]));
    }
    return loaded.data;
  };
  const names = (part) => ({
    rowNames: axisNames(app.store().data, meta, part.rowAxis),
    columnNames: axisNames(app.store().data, meta, part.columnAxis),
  });

  // ── layout and drawing ──
  element.style.setProperty("--card-width", cardWidth(matrix().columns, hasColumnLabels(meta, matrix())));
  const layout = (width) => {
    const part = matrix(),
      rows = drawnRows(meta, part, app.state.token),
      hasLabels = hasColumnLabels(meta, part),
      { rowNames, columnNames } = names(part);
    const content = {
      rows,
      columns: part.columns,
      hasLabels,
      rowLabelWidth: part.rows > 1 || axisLabels(meta, part.rowAxis) ? maxLabelWidth(rowNames, 12) : 0,
      columnLabelWidth: hasLabels ? maxLabelWidth(columnNames, 12) : 0,
    };
    return { part, layout: cardLayout(content, width), rowNames, columnNames };
  };
  const refresh = (width = plot.clientWidth) => {
    if (!width) return;
    const current = layout(width),
      density = devicePixelRatio || 1;
    drawing = {
      ...current,
      columns: current.part.columns,
      grown: {
        rows: grownLength(meta, current.part.rowAxis, current.part.rows, app.state.step),
        columns: grownLength(meta, current.part.columnAxis, current.part.columns, app.state.step),
      },
    };
    canvas.width = Math.round(drawing.layout.width * density);
    canvas.height = Math.round(drawing.layout.height * density);
    canvas.style.width = `${drawing.layout.width}px`;
    canvas.style.height = `${drawing.layout.height}px`;
    describe();
    lens.show();
    if (loaded?.data) fillNumbers();
    paint();
    if (more.open) showData();
  };
  const fillNumbers = () => {
    const {
        part,
        layout: { rows },
      } = drawing,
      shown = numbers(),
      { masked } = loaded;
    const wide = part.columns > 24;
    const max = magnitude(shown, wide ? COLOR_SHARE : 1);
    drawing.values = new Float32Array(rows.length * part.columns);
    rows.forEach((row, i) => {
      for (let c = 0; c < part.columns; c++) drawing.values[i * part.columns + c] = shown[part.flat(row, c)];
    });
    drawing.masked = masked ? (i, column) => masked[part.flat(rows[i], column)] === 1 : null;
    drawing.max = max;
    const isSigned = shown.some((value) => value < 0 && value !== -Infinity);
    legend.textContent = app.labels().scale(isSigned ? shortNumber(-max) : "0", shortNumber(max));
    element.dataset.drawn = "";
  };
  const paint = () => {
    if (!drawing?.values || !isVisible) return;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")),
      density = devicePixelRatio || 1;
    context.setTransform(density, 0, 0, density, 0, 0);
    paintCard(context, drawing, marks(), app.theme());
  };
  const marks = () => {
    const { part } = drawing,
      { cell, pinned, token, step } = app.state,
      rectangle = (region) => rectangleOf(part, region);
    const own = (at) => (at?.tensor === id ? rectangle(at.index) : null),
      regions = app.regions();
    const rowLabel = axisLabels(meta, part.rowAxis);
    const row = token && rowLabel === token.side ? token.i : rowLabel === "target" && !token ? step - 1 : null;
    return {
      reads: regions.reads
        .filter(({ tensor }) => tensor === id)
        .map(({ region }) => rectangle(region))
        .filter(Boolean),
      usedBy: regions.usedBy
        .filter(({ tensor }) => tensor === id)
        .map(({ region }) => rectangle(region))
        .filter(Boolean),
      pointed: own(cell),
      pinned: own(pinned),
      row,
    };
  };
  const describe = () => {
    const { part } = drawing,
      heads = meta.axes[0] === "head" ? meta.shape[0] : 0,
      text = app.labels();
    const size = `${part.rows} × ${part.columns}`;
    shape.textContent = heads > 1 ? `${text.headOf(Math.min(app.state.head, heads), heads)} · ${size}` : size;
    plot.setAttribute("aria-label", text.picture(cardTitle(app, id), shape.textContent));
  };

  // ── loading ──
  const load = async () => {
    isVisible = true;
    if (!loaded) {
      [loaded, alternative] = await Promise.all([app.store().load(id), app.alternative(id)]);
      if (signal.aborted) return;
      if (!loaded.data) plot.replaceChildren(make("p", { class: "quiet small", text: app.labels().missing }));
      showCheck();
      if (alternative) element.classList.toggle("changed", isChanged(loaded.data, alternative.data));
    }
    refresh();
  };
  const showCheck = () => {
    const result = loaded.check,
      text = app.labels();
    check.textContent = result ? (result.ok ? "✓" : "✗") : "";
    check.className = `check ${result ? (result.ok ? "ok" : "failed") : ""}`;
    element.classList.toggle("wrong", result?.ok === false);
    if (!result) return;
    const sentence = (result.ok ? text.checkOk : text.checkFailed)(result.delta.toExponential(1));
    check.title = sentence;
    check.setAttribute("role", "img");
    check.setAttribute("aria-label", sentence);
  };

  // ── pointing ──
  const cellFrom = (event) => {
    const box = canvas.getBoundingClientRect(),
      at = drawing && cellAt(drawing.layout, drawing.columns, event.clientX - box.left, event.clientY - box.top);
    return at && at.row < drawing.grown.rows && at.column < drawing.grown.columns
      ? { tensor: id, index: drawing.part.index(at.row, at.column) }
      : null;
  };
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const cell = event.pointerType === "touch" ? null : cellFrom(event);
      if (cell) app.point(cell);
    },
    { signal },
  );
  canvas.addEventListener(
    "click",
    (event) => {
      const cell = cellFrom(event);
      if (cell) app.pin(cell);
    },
    { signal },
  );
  plot.addEventListener(
    "keydown",
    (event) => {
      const arrow = ARROWS[event.key];
      if (!drawing || !hasNoModifier(event) || !(arrow || event.key === "Home" || event.key === "End")) return;
      event.preventDefault();
      app.point(
        {
          tensor: id,
          index: movedIndex(drawing, app.state.cell?.tensor === id ? app.state.cell.index : null, event.key),
        },
        true,
      );
    },
    { signal },
  );

  const showData = () => {
    if (loaded?.data && drawing?.values)
      body.replaceChildren(...cardData(app, id, drawing, numbers(), loaded.masked, canvas));
  };
  more.addEventListener(
    "toggle",
    () => {
      if (more.open) showData();
    },
    { signal },
  );
  onWidthChange(plot, () => refresh(), signal);
  return {
    id,
    element,
    plot,
    load,
    refresh,
    paint,
    hide: () => {
      isVisible = false;
    },
  };
};

const isChanged = (data, other) =>
  Boolean(
    data && (!other || data.length !== other.length || data.some((value, i) => Math.abs(value - other[i]) > 1e-6)),
  );

/** Choosers of the axes before the last two, other than the head. */
const sliceChoosers = (meta, slices, labels, refresh, signal) =>
  Object.keys(slices).map((axis) => {
    const count = meta.shape[meta.axes.indexOf(axis)];
    const select = make(
      "select",
      {},
      ...Array.from({ length: count }, (_, i) => make("option", { value: i, text: i + 1 })),
    );
    select.addEventListener(
      "change",
      () => {
        slices[axis] = Number(select.value);
        refresh();
      },
      { signal },
    );
    return make("label", { class: "small slice", text: `${labels.axes[axis] ?? axis} ` }, select);
  });
