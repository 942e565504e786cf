/** Samples of a corpus: dropped pairs of each filter, texts before and after each repair, frequent pairs. */
import { formatValue } from "./axis.js";
import { row, scrollTable } from "./compare_markup.js";
import { changedPart, count, visible } from "./corpus_data.js";
import { filterName, histogramFigure, thresholdText } from "./corpus_filters.js";
import { make } from "./dom.js";

/** @typedef {import("./corpus.js").View} View */
/** @typedef {import("./corpus_data.js").FilterReport} FilterReport */
/** @typedef {import("./corpus_data.js").RepairSample} RepairSample */

/** @param {string} file @param {number} line */
const location = (file, line) => make("code", { text: `${file}:${line}` });

/** @param {View} view @param {import("./corpus_data.js").DroppedSample} sample */
const droppedCard = ({ words }, { file, line, source, target, detail }) => make("li", { class: "sample-card" },
  make("p", { class: "small" }, location(file, line), ...(detail ? [make("span", { class: "detail", text: detail })] : [])),
  make("dl", {}, ...(source ? [make("dt", { text: words.source }), make("dd", { dir: "auto", text: visible(source) })] : []),
    make("dt", { text: words.target }), make("dd", { dir: "auto", text: visible(target) })));

/** A filter with its values and dropped pairs. @param {View} view @param {FilterReport} filter @param {AbortSignal} signal */
const filterArticle = (view, filter, signal) => {
  const { words } = view, name = filterName(words, filter.name), { histogram } = filter;
  const figure = histogram && histogram.edges.length > 1 ? [histogramFigure(view, {
    caption: words.valuesCaption(name), title: words.filterValues[filter.name] ?? name, edges: histogram.edges,
    layers: [{ name: words.pairs, style: "all", counts: histogram.counts }], limits: [filter.low, filter.high], label: formatValue,
  }, signal)] : [];
  return make("article", { class: "filter" },
    make("h3", { text: words.filterHeading(name, count(filter.dropped)) }),
    make("p", { class: "quiet small", text: `${words.filterHelp[filter.name] ?? ""} ${words.keepsText(thresholdText(view, filter))}` }),
    ...figure, make("ul", { class: "sample-cards" }, ...filter.samples.map((sample) => droppedCard(view, sample))));
};

/** The section of the dropped pairs: a filter that dropped none is left out. @param {View} view @param {AbortSignal} signal */
export const samplesSection = (view, signal) => [
  make("p", { class: "quiet help", text: view.words.samplesHelp }),
  make("div", { class: "samples" }, ...view.data.filters.filter(({ samples }) => samples.length).map((filter) => filterArticle(view, filter, signal))),
];

/** @param {string} start @param {string} changed @param {string} end @param {string} style */
const marked = (start, changed, end, style) =>
  [visible(start), ...(changed ? [make("mark", { class: style, text: visible(changed) })] : []), visible(end)];

/** @param {View} view @param {RepairSample} sample */
const repairCard = ({ words }, { file, line, side, before, after }) => {
  const part = changedPart(before, after), [from, to] = [Array.from(before).length, Array.from(after).length];
  return make("li", { class: "sample-card" },
    make("p", { class: "small" }, location(file, line), make("span", { class: "detail", text: `${words[side] ?? side}, ${words.characters(count(from), count(to))}` })),
    make("dl", {}, make("dt", { text: words.before }), make("dd", { dir: "auto" }, ...marked(part.start, part.before, part.end, "removed")),
      make("dt", { text: words.after }), make("dd", { dir: "auto" }, ...marked(part.start, part.after, part.end, "added"))));
};

/** The section of the repairs. @param {View} view */
export const repairsSection = (view) => {
  const { data, words } = view;
  return [
    make("p", { class: "quiet help", text: words.repairsHelp }),
    make("div", { class: "samples" }, ...data.repairs.filter((repair) => repair.count).map((repair) => make("article", { class: "filter" },
      make("h3", { text: words.repairHeading(words.repairNames[repair.name] ?? repair.name, count(repair.count)) }),
      make("ul", { class: "sample-cards" }, ...repair.samples.map((sample) => repairCard(view, sample)))))),
  ];
};

/** The section of the duplicates. @param {View} view */
export const duplicatesSection = ({ data, words }) => [
  scrollTable(words.duplicates, [words.times, words.source, words.target],
    data.duplicates.map(({ source, target, count: times }) => row(`${count(times)} ×`, [visible(source), visible(target)])), "duplicate-table"),
  make("p", { class: "quiet small", text: words.duplicatesNote }),
];
