/** Texts around the picture of the selected head: name, axes, legend, patterns. */
import { patternRows } from "./attention_markup.js";
import { colorGradient } from "./colors.js";
import { $, css } from "./dom.js";
import { headFact } from "./head_text.js";

/** @typedef {import("./attention_selection.js").Selection} Selection */

/** @param {(id: string) => any} element @param {Selection} shown @param {number} max @param {boolean} hasMask */
const showLegend = (element, { words, state }, max, hasMask) => {
  const isLines = state.view === "lines";
  element("legend-title").textContent = words().weight;
  element("legend-max").textContent = max === 1 ? "1" : max.toFixed(3);
  element("ramp").style.background = isLines
    ? `linear-gradient(to right, transparent, ${css("--accent")})`
    : colorGradient();
  for (const id of ["hatch", "hatch-label"]) element(id).hidden = !hasMask || isLines;
  element("hatch-label").textContent = words().maskedLegend;
};

/**
 * Describe the selected head.
 * @param {ShadowRoot | HTMLElement} root
 * @param {Selection} shown
 * @param {number} max the weight of the strongest color
 * @param {boolean} hasMask
 */
export const describeHead = (root, shown, max, hasMask) => {
  const element = (id) => $(id, root),
    { state, words, grid, nameOf, title, readsHops } = shown,
    { layer, head, role, view } = state;
  const summary = grid().summaries[layer][head],
    name = title(layer, head),
    [query, key] = words().axes[role] ?? words().axes.hops,
    keyName = readsHops() ? words().axes.hops[0] : key;
  element("head-name").textContent = name;
  element("head-fact").textContent = headFact(words(), nameOf(layer, head), summary);
  const axes = view === "lines" ? words().leftAndRight : words().rowsAndColumns;
  element("axes").textContent = axes(query, keyName);
  element("stage").setAttribute("aria-label", words().picture(name));
  showLegend(element, shown, max, hasMask);
  element("patterns-title").textContent = words().patternsTitle;
  element("patterns-title").hidden = !Object.keys(summary.patterns).length;
  element("patterns").replaceChildren(...patternRows(words(), summary.patterns));
  for (const id of ["smaller", "larger"]) element(id).setAttribute("aria-label", words()[id]);
  for (const id of ["save", "fit"]) element(id).textContent = words()[id];
};
