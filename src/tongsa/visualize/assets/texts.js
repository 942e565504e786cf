/** Source, output, reference and score of a sentence as a description list. */
import { make } from "./dom.js";
import { signed } from "./format.js";

/**
 * @typedef {object} SentenceTexts
 * @property {string} text
 * @property {string} translation the output: a translation, or a label
 * @property {boolean} is_label
 * @property {string} reference
 * @property {number | null} score
 */

/**
 * Return the terms and descriptions of a sentence.
 * @param {SentenceTexts} sentence
 * @param {typeof import("./view_words_en.js").english.page} words
 */
export const textRows = ({ text, translation, is_label: isLabel, reference, score }, words) => {
  /** @type {["source" | "translation" | "label" | "reference" | "score", string][]} */
  const rows = [
    ["source", text],
    [isLabel ? "label" : "translation", translation],
    ["reference", reference],
  ];
  if (score !== null) rows.push(["score", signed(score)]);
  return rows
    .filter(([, value]) => value)
    .flatMap(([name, value]) => [
      make("dt", { text: words[name] }),
      make(
        "dd",
        { class: name === "label" ? "translation" : name, dir: "auto" },
        value,
        ...(name === "score" ? [make("span", { class: "quiet small", text: ` = ${words.scoreNote}` })] : []),
      ),
    ]);
};
