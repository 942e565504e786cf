/** Tables of the comparison page: settings that differ, cost, traits of the outputs; slices as charts with tables. */
import { legend, lineChart } from "./compare_chart.js";
import { compact, intervalText, number } from "./compare_data.js";
import { row, scrollTable } from "./compare_markup.js";
import { metricTitle } from "./compare_scores.js";
import { make, onWidthChange } from "./dom.js";

/** @typedef {import("./compare.js").View} View */
/** @typedef {import("./compare_data.js").Slice} Slice */
/** @typedef {import("./compare_data.js").System} System */

/** The section of the settings that differ: keys are rows, so that long keys do not widen the table. @param {View} view */
export const settingsSection = ({ data, words }) => {
  const { keys, rows } = data.differences;
  if (!keys.length) return [make("p", { class: "quiet", text: words.noDifferences })];
  const headers = [words.setting, ...data.settings.map(({ name }) => name)];
  return [scrollTable(words.settings, headers, keys.map((key, i) => row(key, rows.map((values) => values[i]))), "keys-table")];
};

/** Estimated width of a letter of a label, and of the vertical axis with its labels, in CSS pixels. */
const [LETTER_WIDTH, AXIS_WIDTH] = [6.5, 60];

/** Name of a column → value of a system as text. @type {Record<string, (system: System, words: any) => string>} */
const COSTS = {
  kind: ({ kind }) => kind || "–",
  parameters: ({ parameters }) => compact(parameters),
  size: ({ size_bytes: size }) => (size === null ? "–" : `${compact(size)}B`),
  steps: ({ steps }) => (steps === null ? "–" : steps.toLocaleString("en")),
  trainingTime: ({ seconds }, words) => (seconds === null ? "–" : words.duration(seconds)),
  trainingSpeed: ({ tokens, seconds }) => (tokens && seconds ? compact(tokens / seconds) : "–"),
  memory: ({ memory_bytes: memory }) => (memory === null ? "–" : `${compact(memory)}B`),
  decodingSpeed: ({ sentences_per_second: speed }) => compact(speed),
  decoding: ({ decoding }) => decoding || "–",
};

/** The section of the cost: columns that no system knows are left out. @param {View} view */
export const costSection = ({ data, words }) => {
  const names = Object.keys(COSTS).filter((name) => data.systems.some((system) => COSTS[name](system, words) !== "–"));
  const headers = [words.system, ...names.map((name) => words.costs[name])];
  const rows = data.systems.map((system) => row(system.name, names.map((name) => COSTS[name](system, words))));
  return [scrollTable(words.cost, headers, rows), make("p", { class: "quiet small", text: words.costNote })];
};

/** The section of the traits; the last row is the references. @param {View} view */
export const traitsSection = ({ data, words }) => {
  const names = Object.keys(data.traits.references);
  const cell = (estimate) => make("span", {}, make("span", { class: "value", text: estimate.value === null ? "–" : `${number(estimate.value, 1)} %` }),
    make("span", { class: "interval", text: intervalText(estimate, 1) }));
  const rows = data.traits.rows.map((traits, i) => row(data.settings[i].name, names.map((name) => cell(traits[name]))));
  const references = row(words.references, names.map((name) => cell({ ...data.traits.references[name], low: null, high: null })));
  references.className = "references";
  const explanations = names.map((name) => make("li", { text: `${words.traitNames[name]}: ${words.traitHelp[name]}` }));
  return [
    scrollTable(words.traits, [words.system, ...names.map((name) => words.traitNames[name])], [...rows, references], "score-table"),
    make("ul", { class: "quiet small help" }, ...explanations),
  ];
};

/**
 * The same numbers as a table, for readers who cannot see the chart.
 * @param {View} view
 * @param {Slice} slice
 * @param {string} caption
 */
const sliceTable = ({ data, words }, { bins, lines }, caption) => {
  const rows = bins.map(({ label, count }, bin) => row(label, [count.toLocaleString("en"), ...lines.map((line) => {
    const estimate = line[bin];
    return estimate ? `${number(estimate.value, 1)} (${intervalText(estimate, 1)})` : "–";
  })]));
  const headers = [words.slice, words.count, ...data.settings.map(({ name }) => name)];
  return make("details", {}, make("summary", { text: words.asTable }), scrollTable(caption, headers, rows));
};

/**
 * Return the lines of a slice; bins are positions 0, 1, 2 …
 * @param {Slice} slice
 * @returns {import("./compare_chart.js").Line[]}
 */
export const sliceLines = ({ lines }) => lines.map((line, series) => ({
  series,
  points: line.flatMap((estimate, x) => (estimate?.value == null ? [] : [{ x, value: estimate.value, low: estimate.low, high: estimate.high }])),
})).filter(({ points }) => points.length);

/**
 * Return every how many labels there is room for one.
 * @param {string[]} labels
 * @param {number} width of the chart
 */
export const labelStep = (labels, width) => {
  const widest = Math.max(...labels.map((label) => label.length)) * LETTER_WIDTH + LETTER_WIDTH;
  return Math.max(1, Math.ceil((widest * labels.length) / Math.max(1, width - AXIS_WIDTH)));
};

/** @param {View} view @param {Slice} slice @param {AbortSignal} signal */
const sliceFigure = (view, slice, signal) => {
  const { words } = view, picture = make("div", { class: "picture" }), lines = sliceLines(slice);
  const texts = slice.bins.map(({ label, count }) => [label, `n ${compact(count)}`]);
  /** @type {[number, number]} */
  const range = [-0.4, slice.bins.length - 0.6];
  const title = words.sliceAxes[slice.by], { brokenAxis } = words;
  onWidthChange(picture, (width) => {
    const step = labelStep(texts.flat(), width);
    const marks = texts.flatMap(([text, note], x) => (x % step ? [] : [{ x, text, note }]));
    picture.replaceChildren(lineChart({ lines, marks, range, title, mode: "range", brokenAxis }, width));
  }, signal);
  const caption = words.sliceCaption(metricTitle(words, slice.metric), words.sliceNames[slice.by](slice.of));
  return make("figure", {}, make("figcaption", { text: caption }), picture, sliceTable(view, slice, caption));
};

/** The section of the slices: those of the chosen metric, and those with a measure of their own. @param {View} view @param {AbortSignal} signal */
export const slicesSection = (view, signal) => {
  const { data, words, state } = view, names = new Set(data.metrics.map(({ name }) => name));
  const shown = data.slices.filter(({ metric }) => !names.has(metric) || metric === state.metric);
  return [
    make("p", { class: "quiet help", text: words.slicesHelp }),
    ...(data.settings.length > 1 ? [legend(data.settings.map(({ name }) => name))] : []),
    make("div", { class: "figures" }, ...shown.map((slice) => sliceFigure(view, slice, signal))),
  ];
};
