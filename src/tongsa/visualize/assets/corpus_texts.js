/** Sections about the texts of a corpus: scripts, languages, misaligned blocks. */
import { row, scrollTable } from "./compare_markup.js";
import { count, share, shortName, sum } from "./corpus_data.js";
import { make } from "./dom.js";

/** @typedef {import("./corpus.js").View} View */
/** @typedef {import("./corpus_data.js").NamedCount} NamedCount */

const MAX_BARS = 8;

/**
 * Bars of shares, the largest first; the rest is one bar.
 * @param {View} view
 * @param {string} heading
 * @param {NamedCount[]} counts
 * @param {(name: string) => string} nameOf
 */
const bars = ({ words }, heading, counts, nameOf) => {
  const total = sum(counts.map((item) => item.count)), rest = sum(counts.slice(MAX_BARS).map((item) => item.count));
  const shown = [...counts.slice(0, MAX_BARS).map((item) => ({ ...item, name: nameOf(item.name) })), ...(rest ? [{ name: words.others, count: rest }] : [])];
  const items = shown.map((item) => make("li", {},
    make("span", { class: "bar-name", text: item.name }),
    make("span", { class: "bar-track", "aria-hidden": "true" }, make("span", { class: "bar", style: `width: ${((100 * item.count) / total).toFixed(2)}%` })),
    make("span", { class: "figure", text: `${share(item.count, total)}` }), make("span", { class: "quiet small figure", text: count(item.count) })));
  return make("article", {}, make("h3", { text: heading }), make("ul", { class: "bars" }, ...items));
};

/** Return the script's name in usual letters. @param {string} name */
const scriptName = (name) => name.toLowerCase().replace(/(^|\/)\p{L}/gu, (letter) => letter.toUpperCase());

/** @param {View} view @param {[NamedCount[], NamedCount[]]} sides @param {(name: string) => string} nameOf */
const sidesOf = (view, sides, nameOf) => make("div", { class: "columns" },
  ...[view.words.source, view.words.target].flatMap((heading, i) => (sides[i].length ? [bars(view, heading, sides[i], nameOf)] : [])));

/** The section of the scripts. @param {View} view */
export const scriptsSection = (view) =>
  [sidesOf(view, view.data.scripts, scriptName), make("p", { class: "quiet small", text: view.words.scriptsNote })];

/** The section of the languages. @param {View} view */
export const languagesSection = (view) =>
  [sidesOf(view, view.data.languages_found, (code) => code || view.words.unknown), make("p", { class: "quiet small", text: view.words.languagesNote })];

/** The section of the misaligned blocks. @param {View} view */
export const blocksSection = ({ data, words }) => {
  if (!data.blocks.length) return [make("p", { text: words.noBlocks })];
  const rows = data.blocks.map((block) => row(`${shortName(data.files, block.file)}:${block.first_line}`,
    [count(block.last_line), count(block.last_line - block.first_line + 1), words.shift(block.shift)]));
  return [
    scrollTable(words.blocks, [words.slipsAt, words.lastLine, words.lines, words.meaning], rows),
    make("p", { class: "quiet small", text: words.blocksNote }),
  ];
};
