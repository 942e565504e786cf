/** Samples of a corpus: dropped pairs of each filter, texts before and after each repair, frequent pairs. */
import { formatValue } from "./axis.js";
import { row, scrollTable } from "./compare_markup.js";
import { changedPart, count, ratioLabel, ratioText, shortName, visible } from "./corpus_data.js";
import { filterName, histogramFigure, thresholdText } from "./corpus_filters.js";
import { make } from "./dom.js";
import { truncate } from "./format.js";

/** @typedef {import("./corpus.js").View} View */
/** @typedef {import("./corpus_data.js").FilterReport} FilterReport */
/** @typedef {import("./corpus_data.js").RepairSample} RepairSample */

/** Samples of a filter or a repair that are shown at first. */
const FIRST_SHOWN = 4;
/** Characters of a frequent pair that are shown. */
const MAX_SHOWN_CHARACTERS = 160;

/** @param {View} view @param {{ file: string, line: number }} sample */
const location = ({ data }, { file, line }) => make("code", { title: file, text: `${shortName(data.files, file)}:${line}` });

/** Cards, most of them behind a button. @param {View} view @param {HTMLLIElement[]} cards */
const cardList = ({ words }, cards) => [
  make("ul", { class: "sample-cards" }, ...cards.slice(0, FIRST_SHOWN)),
  ...(cards.length > FIRST_SHOWN ? [make("details", {}, make("summary", { text: words.moreSamples(cards.length - FIRST_SHOWN) }),
    make("ul", { class: "sample-cards" }, ...cards.slice(FIRST_SHOWN)))] : []),
];

/** @param {View} view @param {import("./corpus_data.js").DroppedSample} sample */
const droppedCard = (view, { file, line, source, target, detail }) => make("li", { class: "sample-card" },
  make("p", { class: "small" }, location(view, { file, line }), ...(detail ? [make("span", { class: "detail", text: detail })] : [])),
  make("dl", {}, ...(source ? [make("dt", { text: view.words.source }), make("dd", { dir: "auto", text: visible(source) })] : []),
    make("dt", { text: view.words.target }), make("dd", { dir: "auto", text: visible(target) })));

/** A filter with its values and dropped pairs. @param {View} view @param {FilterReport} filter @param {AbortSignal} signal */
const filterArticle = (view, filter, signal) => {
  const { words } = view, name = filterName(words, filter.name), { histogram } = filter;
  const figure = histogram && histogram.edges.length > 1 ? [histogramFigure(view, {
    caption: words.valuesCaption(name), title: words.filterValues[filter.name] ?? name, edges: histogram.edges,
    layers: [{ name: words.pairs, style: "all", counts: histogram.counts }], limits: [filter.low, filter.high],
    label: (edge) => (filter.name === "ratio" ? ratioText(Math.log2(edge)) : formatValue(edge)),
    mark: (edge) => (filter.name === "ratio" ? ratioLabel(Math.log2(edge)) : formatValue(edge)),
  }, signal)] : [];
  return make("article", { class: "filter" },
    make("h3", { text: words.filterHeading(name, count(filter.dropped)) }),
    make("p", { class: "quiet small", text: `${words.filterHelp[filter.name] ?? ""} ${words.keepsText(thresholdText(view, filter))}` }),
    ...figure, ...cardList(view, filter.samples.map((sample) => droppedCard(view, sample))));
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
const repairCard = (view, { file, line, side, before, after }) => {
  const { words } = view;
  const part = changedPart(before, after), [from, to] = [Array.from(before).length, Array.from(after).length];
  return make("li", { class: "sample-card" },
    make("p", { class: "small" }, location(view, { file, line }), make("span", { class: "detail", text: `${words[side] ?? side}, ${words.characters(count(from), count(to))}` })),
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
      ...cardList(view, repair.samples.map((sample) => repairCard(view, sample)))))),
  ];
};

/** The section of the duplicates. @param {View} view */
export const duplicatesSection = ({ data, words }) => [
  scrollTable(words.duplicates, [words.times, words.source, words.target],
    data.duplicates.map(({ source, target, count: times }) => row(`${count(times)}×`, [truncate(visible(source), MAX_SHOWN_CHARACTERS), truncate(visible(target), MAX_SHOWN_CHARACTERS)])), "duplicate-table"),
  make("p", { class: "quiet small", text: words.duplicatesNote }),
];
