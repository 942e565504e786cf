/** Corpus report: counts, filters, lengths, scripts and languages, misaligned blocks, duplicates, samples, ablation. */
import { ablationSection } from "./corpus_ablation.js";
import { partsBar } from "./corpus_chart.js";
import { count, partsOf, share, shortName } from "./corpus_data.js";
import { filtersSection, lengthsSection } from "./corpus_filters.js";
import { duplicatesSection, repairsSection, samplesSection } from "./corpus_samples.js";
import { blocksSection, languagesSection, scriptsSection } from "./corpus_texts.js";
import { english } from "./corpus_words_en.js";
import { korean } from "./corpus_words_ko.js";
import { make } from "./dom.js";

/** @typedef {import("./corpus_data.js").CorpusReport} CorpusReport */
/** @typedef {{ data: CorpusReport, words: any }} View what the sections draw */
/** @typedef {(view: View, signal: AbortSignal) => Node[]} DrawSection */

/** Share of dropped pairs from which the page advises to look at the filters. */
const MANY_DROPPED = 0.3;
const MAX_NAMED_BLOCKS = 3;

/**
 * Sections in their order: whether the report has it, and its drawing.
 * @type {Record<string, { exists: (data: CorpusReport) => boolean, draw: DrawSection }>}
 */
const SECTIONS = {
  filters: { exists: () => true, draw: filtersSection },
  ablation: { exists: ({ ablation }) => ablation !== null, draw: ablationSection },
  blocks: { exists: ({ blocks, filters }) => blocks.length > 0 || filters.some(({ name }) => name === "alignment"), draw: blocksSection },
  lengths: { exists: ({ kept, dropped }) => kept + dropped > 0, draw: lengthsSection },
  scripts: { exists: ({ scripts }) => scripts.some(({ length }) => length > 0), draw: scriptsSection },
  languages: { exists: ({ languages_found: found }) => found.some(({ length }) => length > 0), draw: languagesSection },
  samples: { exists: ({ filters }) => filters.some(({ samples }) => samples.length > 0), draw: samplesSection },
  repairs: { exists: ({ repairs }) => repairs.some((repair) => repair.count > 0), draw: repairsSection },
  duplicates: { exists: ({ duplicates }) => duplicates.length > 0, draw: duplicatesSection },
};

/** The four counts, and the bar of all records. @param {View} view */
const countsOf = ({ data, words }) => {
  const { kept, filtered, unusable } = partsOf(data);
  const figure = (name, value, note, style) => make("div", { class: `count ${style}` }, make("dt", { text: name }),
    make("dd", {}, make("b", { text: count(value) }), make("span", { class: "quiet small", text: note })));
  const parts = [{ style: "kept", count: kept }, { style: "dropped", count: filtered }, { style: "unusable", count: unusable }];
  return make("div", { class: "counts" },
    make("dl", {},
      figure(words.read, data.read, words.equation, ""),
      figure(words.kept, data.kept, share(data.kept, data.read), "kept"),
      figure(words.dropped, data.dropped, share(data.dropped, data.read), "dropped"),
      figure(words.repaired, data.repaired, words.repairedNote, "")),
    partsBar(parts),
    make("p", { class: "quiet small", text: words.parts(count(kept), count(filtered), count(unusable)) }));
};

/** What a reader must know first. @param {View} view @returns {string[]} */
const remarksOf = ({ data, words }) => [
  ...data.blocks.slice(0, MAX_NAMED_BLOCKS).map((block) => words.blockRemark(`${shortName(data.files, block.file)}:${block.first_line}`, count(block.last_line), words.shift(block.shift))),
  ...(data.blocks.length > MAX_NAMED_BLOCKS ? [words.moreBlocks(count(data.blocks.length - MAX_NAMED_BLOCKS))] : []),
  ...(data.dropped >= MANY_DROPPED * data.read && data.read ? [words.manyDropped(share(data.dropped, data.read))] : []),
];

/** @param {View} view */
const summaryOf = (view) => {
  const { data, words } = view, remarks = remarksOf(view);
  const languages = data.languages.filter(Boolean).join(" → ");
  const facts = [data.files.join(", "), languages, words.duration(data.seconds)].filter(Boolean).join(" · ");
  return [
    make("p", { class: "quiet facts", dir: "auto", text: facts }), countsOf(view),
    ...(remarks.length ? [make("ul", { class: "remarks" }, ...remarks.map((text) => make("li", { text })))] : []),
  ];
};

/**
 * Draw into `root` the data of tongsa.visualize.corpus_report.
 * @param {ShadowRoot | HTMLElement} root
 * @param {CorpusReport} data
 * @param {import("./view_words.js").PanelOptions} [options]
 * @returns {import("./view_words.js").Panel}
 */
export const draw = (root, data, { language = "en", signal } = {}) => {
  const host = make("div", { class: "corpus" });
  root.append(host);
  let drawn = new AbortController();
  const setLanguage = (next) => {
    drawn.abort(); // observers of the content that is replaced
    drawn = new AbortController();
    const view = { data, words: next === "ko" ? korean : english }, { words } = view;
    const names = Object.keys(SECTIONS).filter((name) => SECTIONS[name].exists(data));
    host.replaceChildren(...summaryOf(view), make("nav", { "aria-label": words.contents },
      ...names.map((name) => make("button", { type: "button", class: "plain", text: words[name], click: () => {
        host.querySelector(`#${name}`)?.scrollIntoView();
        /** @type {HTMLElement | null} */ (host.querySelector(`#${name} h2`))?.focus({ preventScroll: true });
      } }))),
    ...names.map((name) => make("section", { id: name }, make("h2", { tabindex: -1, text: words[name] }),
      ...SECTIONS[name].draw(view, drawn.signal))));
  };
  setLanguage(language);
  signal?.addEventListener("abort", () => drawn.abort());
  return { setLanguage, setSentence: () => {} }; // the page is about all pairs
};
