/** One card: the picture of a tensor, its equation and its check. */
import { ARROWS, hasNoModifier, make, onWidthChange } from "./dom.js";
import { cardData, cardTitle } from "./trace_card_data.js";
import { cardMatrix, fillDrawing, layOutCard, paintDrawing, resizeCanvas, shownNumbers } from "./trace_card_drawing.js";
import { cardWidth, cellAt, hasColumnLabels, movedIndex } from "./trace_layout.js";
import { lensLine } from "./trace_lens.js";
import { formulaElement } from "./trace_math.js";

/** Elements of an empty card. */
const cardElements = (app, id, lens, choosers) => {
  const labels = app.labels(),
    { formula } = app.store().equation(id),
    title = cardTitle(app, id);
  const canvas = make("canvas", { "aria-hidden": true }),
    plot = make("div", { class: "plot", tabindex: 0, role: "application" }, canvas),
    check = make("span", { class: "check" }),
    shape = make("span", { class: "quiet small figure" }),
    legend = make("span", { class: "quiet small figure" }),
    body = make("div", { class: "more-body" }),
    more = make("details", { class: "more" }, make("summary", { text: labels.data }), body);
  const head = make("div", { class: "card-head" }, make("h4", { text: title }));
  if (formula) head.append(make("span", { class: "line" }, formulaElement(formula)));
  head.append(check, shape);
  const foot = make("div", { class: "card-foot" }, legend, more);
  const attributes = { class: "card", "data-tensor": id, "aria-label": title };
  const element = make("section", attributes, head, ...choosers, plot, lens, foot);
  return { element, canvas, plot, check, shape, legend, body, more };
};

/** Say whether the numbers agree with PyTorch's. */
const showCheck = (app, { element, check }, result) => {
  const labels = app.labels();
  check.textContent = result ? (result.ok ? "✓" : "✗") : "";
  check.className = `check ${result ? (result.ok ? "ok" : "failed") : ""}`;
  element.classList.toggle("wrong", result?.ok === false);
  if (!result) return;
  const sentence = (result.ok ? labels.checkOk : labels.checkFailed)(result.delta.toExponential(1));
  check.title = sentence;
  check.setAttribute("role", "img");
  check.setAttribute("aria-label", sentence);
};

/** Say the head and the shape. */
const describe = (app, { id, meta, drawing: { part } }, { shape, plot }) => {
  const heads = meta.axes[0] === "head" ? meta.shape[0] : 0,
    labels = app.labels(),
    listed = meta.vocabulary > part.columns ? ` · ${labels.listed(part.columns, meta.vocabulary)}` : "",
    size = `${part.rows} × ${part.columns}${listed}`;
  shape.textContent = heads > 1 ? `${labels.headOf(Math.min(app.state.head, heads), heads)} · ${size}` : size;
  plot.setAttribute("aria-label", labels.picture(cardTitle(app, id), shape.textContent));
};

/** Point at cells with the pointer and with keys. */
const listenToCells = (app, card, { canvas, plot }, signal) => {
  const { id } = card;
  const cellFrom = (event) => {
    const { drawing } = card,
      box = canvas.getBoundingClientRect();
    const at = drawing && cellAt(drawing.layout, drawing.columns, event.clientX - box.left, event.clientY - box.top);
    return at && at.row < drawing.grown.rows && at.column < drawing.grown.columns
      ? { tensor: id, index: drawing.part.index(at.row, at.column) }
      : null;
  };
  const point = (event) => {
    const cell = event.pointerType === "touch" ? null : cellFrom(event);
    if (cell) app.point(cell);
  };
  const pin = (event) => {
    const cell = cellFrom(event);
    if (cell) app.pin(cell);
  };
  const move = (event) => {
    const isMove = ARROWS[event.key] || event.key === "Home" || event.key === "End";
    if (!card.drawing || !hasNoModifier(event) || !isMove) return;
    event.preventDefault();
    const from = app.state.cell?.tensor === id ? app.state.cell.index : null;
    app.point({ tensor: id, index: movedIndex(card.drawing, from, event.key) }, true);
  };
  canvas.addEventListener("pointermove", point, { signal });
  canvas.addEventListener("click", pin, { signal });
  plot.addEventListener("keydown", move, { signal });
};

/**
 * @param {any} app the panel: store, state, labels, point, pin, theme
 * @param {string} id of the tensor
 */
export const traceCard = (app, id, signal) => {
  const meta = app.store().meta(id),
    slices = Object.fromEntries(otherAxes(meta).map((axis) => [axis, 0]));
  /** @type {any} what is known of the tensor, and how it is drawn */
  const card = { id, meta, slices, loaded: null, alternative: null, drawing: null, isVisible: false };
  const lens = lensLine(app, id),
    parts = cardElements(app, id, lens.element, sliceChoosers(card, app.labels(), () => refresh(), signal)),
    { element, canvas, plot, legend, body, more } = parts,
    { formula } = app.store().equation(id),
    matrix = cardMatrix(app, card);
  element.style.setProperty("--card-width", cardWidth(matrix.columns, hasColumnLabels(meta, matrix), formula));

  const refresh = (width = plot.clientWidth) => {
    if (!width) return;
    card.drawing = layOutCard(app, card, width);
    resizeCanvas(canvas, card.drawing);
    describe(app, card, parts);
    lens.show();
    if (card.loaded?.data) {
      legend.textContent = app.labels().scale(...fillDrawing(app, card));
      element.dataset.drawn = "";
    }
    paint();
    if (more.open) showData();
  };
  const paint = () => {
    if (card.drawing?.values && card.isVisible) paintDrawing(app, canvas, card);
  };
  const load = async () => {
    card.isVisible = true;
    if (!card.loaded) {
      [card.loaded, card.alternative] = await Promise.all([app.store().load(id), app.alternative(id)]);
      if (signal.aborted) return;
      const { loaded, alternative } = card;
      if (!loaded.data) plot.replaceChildren(make("p", { class: "quiet small", text: app.labels().missing }));
      showCheck(app, parts, loaded.check);
      if (alternative) element.classList.toggle("changed", isChanged(loaded.data, alternative.data));
    }
    refresh();
  };
  const showData = () => {
    if (card.loaded?.data && card.drawing?.values)
      body.replaceChildren(
        ...cardData(app, id, card.drawing, shownNumbers(app, card), card.loaded.masked, canvas),
      );
  };
  const hide = () => {
    card.isVisible = false;
  };
  listenToCells(app, card, parts, signal);
  // an open table has its numbers, also when the card has left the screen before they were loaded
  more.addEventListener("toggle", () => more.open && (card.loaded ? showData() : load()), { signal });
  onWidthChange(plot, () => refresh(), signal);
  return { id, element, plot, more, load, refresh, paint, hide };
};

const isChanged = (data, other) =>
  Boolean(
    data && (!other || data.length !== other.length || data.some((value, i) => Math.abs(value - other[i]) > 1e-6)),
  );

/** The axes before the last two, other than the head. */
const otherAxes = ({ axes }) => axes.slice(0, -2).filter((axis) => axis !== "head");

/** Choosers of the axes before the last two, other than the head. */
const sliceChoosers = ({ meta, slices }, labels, refresh, signal) =>
  otherAxes(meta).map((axis) => {
    const count = meta.shape[meta.axes.indexOf(axis)];
    const options = Array.from({ length: count }, (_, i) => make("option", { value: i, text: i + 1 }));
    const select = make("select", {}, ...options);
    const choose = () => {
      slices[axis] = Number(select.value);
      refresh();
    };
    select.addEventListener("change", choose, { signal });
    return make("label", { class: "small slice", text: `${labels.axes[axis] ?? axis} ` }, select);
  });
