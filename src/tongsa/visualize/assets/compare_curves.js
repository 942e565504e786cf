/** Training curves of all runs on one axis: by steps, by target tokens or by minutes. */
import { ticks } from "./axis.js";
import { legend, lineChart } from "./compare_chart.js";
import { compact, settingOf } from "./compare_data.js";
import { row, scrollTable } from "./compare_markup.js";
import { make, onWidthChange } from "./dom.js";
import { clamp } from "./format.js";

/** @typedef {import("./compare_data.js").ComparisonData} ComparisonData */
/** @typedef {import("./compare_data.js").CurvePanel} CurvePanel */
/** @typedef {"steps" | "tokens" | "minutes"} TimeUnit */

/** Unit → index of the value in a point, and its divisor. @type {Record<TimeUnit, [number, number]>} */
export const UNITS = { steps: [0, 1], tokens: [1, 1], minutes: [2, 60] };
const TICK_WIDTH = 90;
/** A loss that falls by this factor is drawn on a logarithmic axis. */
const LOG_RATIO = 4;

/**
 * Return the lines of a panel over a unit of time; runs of one setting have the same color.
 * @param {ComparisonData} data
 * @param {CurvePanel} panel
 * @param {TimeUnit} unit
 * @returns {import("./compare_chart.js").Line[]}
 */
export const curveLines = (data, { lines }, unit) => {
  const [index, divisor] = UNITS[unit];
  return lines.map(({ system, points }) => ({
    series: settingOf(data, system), points: points.map((point) => ({ x: point[index] / divisor, value: point[3] })),
  }));
};

/** Return the mode of the vertical axis. @param {CurvePanel} panel */
export const curveMode = ({ name, lines }) => {
  const values = lines.flatMap(({ points }) => points.map((point) => point[3]));
  const isWide = Math.min(...values) > 0 && Math.max(...values) > LOG_RATIO * Math.min(...values);
  return name.endsWith("loss") && isWide ? "log" : "range";
};

/** @param {import("./compare.js").View} view @param {CurvePanel} panel @param {AbortSignal} signal */
const curveFigure = ({ data, words, state: { unit } }, panel, signal) => {
  const picture = make("div", { class: "picture" }), lines = curveLines(data, panel, unit);
  const last = Math.max(...lines.flatMap(({ points }) => points.map(({ x }) => x)), 1e-9);
  onWidthChange(picture, (width) => {
    const count = clamp(Math.floor((width - 60) / TICK_WIDTH), 2, 6);
    const marks = ticks(0, last, count).filter((tick) => tick <= last).map((x) => ({ x, text: compact(x) }));
    const title = words.axes[unit], { brokenAxis } = words;
    picture.replaceChildren(lineChart({ lines, marks, range: [0, last], title, mode: curveMode(panel), brokenAxis }, width));
  }, signal);
  const isLog = curveMode(panel) === "log";
  const caption = `${words.curveNames[panel.name] ?? panel.name}${isLog ? ` (${words.logarithmic})` : ""}`;
  return make("figure", {}, make("figcaption", { text: caption }), picture);
};

/** Last values as a table, for readers who cannot see the curves. @param {ComparisonData} data @param {any} words */
const lastValues = ({ curves, systems }, words) => {
  const runs = systems.map((_, i) => i).filter((i) => curves.some(({ lines }) => lines.some(({ system }) => system === i)));
  const lastPoint = (panel, run) => panel.lines.find(({ system }) => system === run)?.points.at(-1);
  const rows = runs.map((run) => row(systems[run].name,
    curves.map((panel) => (lastPoint(panel, run) ? String(lastPoint(panel, run)?.[3]) : "–"))));
  const headers = [words.system, ...curves.map(({ name }) => words.curveNames[name] ?? name)];
  return make("details", {}, make("summary", { text: words.lastValues }), scrollTable(words.lastValues, headers, rows));
};

/**
 * The section of the curves.
 * @param {import("./compare.js").View} view
 * @param {AbortSignal} signal
 */
export const curvesSection = (view, signal) => [
  legend(view.data.settings.map(({ name }) => name)),
  make("div", { class: "figures" }, ...view.data.curves.map((panel) => curveFigure(view, panel, signal))),
  lastValues(view.data, view.words),
];
