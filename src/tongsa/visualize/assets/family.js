/** Family page: one sentence through several models, a column for each, with a slider over their training. */
import { hasNoModifier, make, onThemeChange, onWidthChange } from "./dom.js";
import { drawControls } from "./family_controls.js";
import { curveLegend, drawCurves } from "./family_curves.js";
import { highlight, onPointedWord } from "./family_highlight.js";
import { CELLS, columnHeader } from "./family_rows.js";
import { createView } from "./family_view.js";
import { clamp } from "./format.js";

/** @typedef {import("./family_data.js").FamilyData} FamilyData */
/** @typedef {import("./family_view.js").View} View */

const PLAY_INTERVAL_MS = 900;
const MIN_PLOT_WIDTH = 280;
/** Rows that depend on the chosen time. */
const TIMED_ROWS = ["moment", "output", "logProb", "memory", "reads", "top", "history"];

/**
 * The table of all columns. `fill` writes rows again, `mark` only highlights.
 * @param {View} view
 * @param {HTMLTableElement} table
 * @param {(time: number) => void} choose
 */
const drawTable = (view, table, choose) => {
  const { columns, labels, data } = view;
  const names = Object.keys(CELLS).filter((row) => row !== "beam" || columns.some(({ tree }) => tree));
  const helps = { ...labels.help, ...labels.taskHelp[data.task] };
  const emptyCells = () => columns.map(({ family }) => make("td", { class: `of-${family.key}` }));
  const cells = Object.fromEntries(names.map((row) => [row, emptyCells()]));
  const rows = names.map((row) => {
    const help = make("p", { class: "quiet small help", text: helps[row] });
    return make("tr", { class: `row-${row}` }, make("th", { scope: "row" }, labels.rows[row], help), ...cells[row]);
  });
  table.style.setProperty("--columns", String(columns.length));
  const heads = columns.map((column) => columnHeader(view, column));
  table.replaceChildren(make("caption", { class: "unseen", text: labels.table }),
    make("thead", {}, make("tr", {}, make("td"), ...heads)), make("tbody", {}, ...rows));
  const mark = () => highlight(view, cells);
  /** @param {string[]} changed */
  const fill = (changed) => {
    for (const row of changed.filter((name) => name in cells)) {
      columns.forEach((column, i) => cells[row][i].replaceChildren(...CELLS[row](view, column, choose)));
    }
    mark();
  };
  fill(names);
  return { fill, mark };
};

/**
 * The loss curves; null if no run has a journal.
 * @param {View} view
 * @param {HTMLElement} section
 * @param {(time: number) => void} choose
 */
const drawPlot = (view, section, choose) => {
  const { columns, labels, state } = view;
  section.hidden = !columns.some(({ loss }) => loss.length);
  if (section.hidden) return null;
  const width = Math.max(MIN_PLOT_WIDTH, Math.round(section.clientWidth));
  const plot = drawCurves(columns, { unit: state.timeUnit, width, labels, choose });
  const help = make("p", { class: "quiet small", text: labels.lossHelp });
  section.replaceChildren(make("h2", { text: labels.loss }), help, curveLegend(columns), plot.svg);
  plot.showTime(view.time);
  return plot;
};

/** Call `tick` at intervals, until it is stopped. @param {() => void} tick */
const createPlayer = (tick) => {
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; };
  const start = () => { timer = window.setInterval(tick, PLAY_INTERVAL_MS); };
  return { stop, toggle: () => (timer ? stop() : start()), isPlaying: () => timer > 0 };
};

/**
 * Keys outside the controls: [ and ] change the time, comma and period the output step.
 * @type {Record<string, ["tick" | "step", number]>}
 */
const KEYS = { "[": ["tick", -1], "]": ["tick", 1], ",": ["step", -1], ".": ["step", 1] };

/** @typedef {{ language?: string, saved?: Record<string, string>, signal?: AbortSignal }} Host */

/**
 * Draw into `root` the data of tongsa.visualize.family. Returns `setLanguage`.
 * @param {ShadowRoot | HTMLElement} root
 * @param {FamilyData} data
 * @param {Host & { onChange?: (selection: object) => void }} [options]
 */
export const draw = (root, data, { language = "en", saved = {}, onChange = () => {}, signal } = {}) => {
  const view = createView(data, language, saved), { state } = view;
  const controls = make("div", { class: "controls" }), models = make("table", { class: "models" });
  const scroller = make("div", { class: "models-scroller", tabindex: 0, role: "region" }, models);
  const reference = make("p", { class: "reference" }), curves = make("section", { class: "curves" });
  root.append(reference, controls, scroller, curves);
  /** @type {ReturnType<typeof drawTable>} */
  let table;
  /** @type {ReturnType<typeof drawControls>} */
  let panel;
  /** @type {ReturnType<typeof drawPlot>} */
  let plot;
  const player = createPlayer(() => {
    if (state.tick + 2 >= view.ticks.length) player.stop(); // the next tick is the last
    setTick(state.tick + 1);
  });
  /** Write changed rows and show the state. @param {string[]} rows */
  const show = (rows) => {
    table.fill(rows);
    panel.update(player.isPlaying());
    plot?.showTime(view.time);
    onChange(view.selection);
  };
  /** @param {number} tick */
  const setTick = (tick) => { state.tick = clamp(tick, 0, view.ticks.length - 1); show(TIMED_ROWS); };
  /** @param {number} step */
  const setStep = (step) => { state.step = Math.max(0, step); show(["top", "beam"]); };
  /** Show the last moments up to a time. @param {number} time */
  const choose = (time) => setTick(Math.max(0, view.ticks.findLastIndex((tick) => tick <= time * (1 + 1e-9))));
  const actions = {
    setTick: (tick) => { player.stop(); setTick(tick); },
    setStep,
    setTimeUnit: (unit) => {
      player.stop();
      view.setTimeUnit(unit);
      plot = drawPlot(view, curves, choose);
      show(TIMED_ROWS);
    },
    setUnit: (unit) => { state.unit = unit; show(["reads"]); },
    setLayer: (layer) => {
      state.layer = layer;
      if (layer === null) state.head = null; // a mean over layers has no single heads
      show(["reads"]);
    },
    setHead: (head) => {
      state.head = head;
      if (head !== null && view.layerCount > 1) state.layer ??= 0;
      show(["reads"]);
    },
    play: () => {
      player.toggle();
      setTick(player.isPlaying() && state.tick === view.ticks.length - 1 ? 0 : state.tick);
    },
    pin: () => { state.pins = [...state.pins.slice(-1), view.time].sort((a, b) => a - b); show(TIMED_ROWS); },
    clearPins: () => { state.pins = []; show(TIMED_ROWS); },
  };
  const drawAll = () => {
    reference.textContent = data.reference ? `${view.labels.reference}: ${data.reference}` : "";
    scroller.setAttribute("aria-label", view.labels.table);
    table = drawTable(view, models, choose);
    panel = drawControls(controls, view, actions);
    plot = drawPlot(view, curves, choose);
    panel.update(player.isPlaying());
  };
  drawAll();
  onPointedWord(models, (hovered) => { state.hovered = hovered; table.mark(); }, signal);
  root.addEventListener("keydown", (event) => {
    const { key, target } = /** @type {KeyboardEvent} */ (event), move = KEYS[key];
    if (!move || target instanceof HTMLInputElement || !hasNoModifier(/** @type {KeyboardEvent} */ (event))) return;
    event.preventDefault();
    if (move[0] === "tick") actions.setTick(state.tick + move[1]);
    else setStep(state.step + move[1]);
  }, { signal });
  signal?.addEventListener("abort", player.stop);
  onThemeChange(drawAll, signal);
  onWidthChange(curves, () => { plot = drawPlot(view, curves, choose); }, signal);
  const setLanguage = (/** @type {string} */ next) => { state.language = next; drawAll(); };
  return { setLanguage, setSentence: () => {} }; // the page has one sentence
};
