/** Filters of the corpus report as a table; lengths and ratios as histograms with the cuts of the filters. */
import { formatValue } from "./axis.js";
import { row, scrollTable } from "./compare_markup.js";
import { histogramChart } from "./corpus_chart.js";
import { count, highPosition, positionOf, ratioLabel, ratioText, share, speed } from "./corpus_data.js";
import { make, onWidthChange } from "./dom.js";

/** @typedef {import("./corpus.js").View} View */
/** @typedef {import("./corpus_data.js").FilterReport} FilterReport */
/** @typedef {import("./corpus_data.js").Histogram} Histogram */
/** @typedef {import("./corpus_data.js").Limits} Limits */

/** Return the name of a filter or a repair. @param {any} words @param {string} name */
export const filterName = (words, name) => words.filterNames[name] ?? name;

/** @param {any} words @param {Limits} limits @param {(value: number) => string} format @returns {string} what is kept */
const limitsText = (words, [low, high], format = formatValue) => {
  if (low !== null && high !== null) return words.between(format(low), format(high));
  if (low !== null) return words.atLeast(format(low));
  return high === null ? "–" : words.atMost(format(high));
};

/** Return a ratio as text: 1/6. @param {number} ratio */
const formatRatio = (ratio) => ratioText(Math.log2(ratio));

/**
 * Return the thresholds of a filter; the length has one for each side.
 * @param {View} view
 * @param {FilterReport} filter
 */
export const thresholdText = ({ data, words }, { name, low, high, learnt }) => {
  const sides = /** @type {const} */ (["source", "target"]);
  const text = name !== "length" || low !== null || high !== null ? limitsText(words, [low, high], name === "ratio" ? formatRatio : formatValue)
    : sides.map((side, i) => `${words[side]} ${limitsText(words, data[`${side}_length_limits`])} ${words.units[data.length_units[i]]}`).join("; ");
  return learnt ? `${text} (${words.learnt})` : text;
};

/** @param {number} value @param {number} whole */
const countCell = (value, whole) => make("span", {}, make("span", { class: "value", text: count(value) }),
  make("span", { class: "quiet small", text: share(value, whole) }));

/** The section of the filters, with the reasons of the reader. @param {View} view */
export const filtersSection = (view) => {
  const { data, words } = view;
  const rows = data.filters.map((filter) => {
    const cells = [countCell(filter.dropped, data.read), count(filter.alone), thresholdText(view, filter), speed(filter.pairs_per_second)];
    const line = row(filterName(words, filter.name), cells);
    if (!filter.dropped) line.className = "idle";
    return line;
  });
  const unusable = data.unusable.map(({ name, count: records }) =>
    row(words.unusableName(name.replaceAll("-", " ")), [countCell(records, data.read), count(records), "–", "–"]));
  const headers = [words.filter, words.droppedBy, words.alone, words.keeps, words.speed];
  const help = data.filters.map(({ name }) => make("li", {}, make("b", { text: filterName(words, name) }), `: ${words.filterHelp[name] ?? ""}`));
  return [
    rows.length + unusable.length ? scrollTable(words.filters, headers, [...unusable, ...rows], "filter-table")
      : make("p", { class: "quiet", text: words.noFilters }),
    make("p", { class: "quiet small", text: words.filtersNote }),
    make("details", {}, make("summary", { text: words.aboutFilters }), make("ul", { class: "help small" }, ...help)),
  ];
};

/**
 * The counts of a histogram, for readers who cannot see the chart.
 * @param {View} view
 * @param {Histogram} shape
 * @param {{ name: string, counts: number[] }[]} layers
 * @param {(edge: number) => string} label
 * @param {string} caption
 */
const histogramTable = ({ words }, { edges }, layers, label, caption) => {
  const bins = edges.slice(1).flatMap((edge, bin) => (layers.some(({ counts }) => counts[bin])
    ? [row(`${label(edges[bin])} … ${label(edge)}`, layers.map(({ counts }) => count(counts[bin])))] : []));
  return make("details", {}, make("summary", { text: words.asTable }),
    scrollTable(caption, [words.range, ...layers.map(({ name }) => name)], bins));
};

/**
 * A histogram with its caption, cuts and table.
 * @param {View} view
 * @param {{ caption: string, title: string, layers: { name: string, style: string, counts: number[] }[], edges: number[],
 *   limits: Limits, label: (edge: number) => string, mark?: (edge: number) => string }} figure `mark` labels the axis
 * @param {AbortSignal} signal
 */
export const histogramFigure = (view, { caption, title, layers, edges, limits, label, mark = label }, signal) => {
  const picture = make("div", { class: "picture" });
  const [low, high] = [limits[0] === null ? null : positionOf(edges, limits[0]), limits[1] === null ? null : highPosition(edges, limits[1])];
  onWidthChange(picture, (width) => picture.replaceChildren(
    histogramChart({ edges, layers, low, high, label: mark, title }, width)), signal);
  return make("figure", {}, make("figcaption", { text: caption }), picture,
    histogramTable(view, { edges, counts: [] }, layers, label, caption));
};

/** Return a limit of the ratio as an exponent of two. @param {number | null | undefined} limit */
const exponent = (limit) => (limit == null || limit <= 0 ? null : Math.log2(limit));

/** The section of the lengths and ratios. @param {View} view @param {AbortSignal} signal */
export const lengthsSection = (view, signal) => {
  const { data, words } = view, ratio = data.filters.find(({ name }) => name === "ratio");
  const layers = ([kept, dropped]) => [
    { name: words.kept, style: "kept", counts: kept.counts }, { name: words.dropped, style: "dropped", counts: dropped.counts }];
  const lengths = /** @type {const} */ (["source", "target"]).map((side, i) => ({
    caption: words.lengthCaption(words[side], words.units[data.length_units[i]]), title: words.units[data.length_units[i]],
    layers: layers(data[`${side}_lengths`]), edges: data[`${side}_lengths`][0].edges, limits: data[`${side}_length_limits`], label: formatValue, mark: formatValue,
  }));
  /** @type {Limits} */
  const ratioLimits = [exponent(ratio?.low), exponent(ratio?.high)];
  const figures = [...lengths, {
    caption: words.ratioCaption, title: words.ratioTitle, layers: layers(data.ratios), edges: data.ratios[0].edges, limits: ratioLimits, label: ratioText, mark: ratioLabel,
  }].filter(({ edges }) => edges.length > 1);
  const key = (style, text) => make("li", {}, make("span", { class: `swatch ${style}` }), text);
  return [
    make("ul", { class: "keys" }, key("kept", words.kept), key("dropped", words.dropped), key("cut", words.cut)),
    make("div", { class: "figures" }, ...figures.map((figure) => histogramFigure(view, figure, signal))),
  ];
};
