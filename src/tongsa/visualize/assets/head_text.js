/** Texts about a head: title, name, summary, caption. Pure functions of the data and of the words of a language. */
import { percent } from "./format.js";

/** @typedef {import("./types.d.ts").AttentionHead} AttentionHead */
/** @typedef {import("./types.d.ts").HeadName} HeadName */
/** @typedef {typeof import("./view_words_en.js").english.attention} Words */
/** @typedef {import("./types.d.ts").AttentionMechanism["score"]} Score */

/** Return the number of thumbnails of a layer: its heads, and their mean if there are several. @param {number} heads */
export const columnCount = (heads) => (heads > 1 ? heads + 1 : 1);

/**
 * Return the title of a head; attention without heads is named after what it is.
 * @param {Words} words
 * @param {Score} score
 * @param {number} heads number of heads of the layer
 * @param {number} layer from 0
 * @param {number} head from 0; the number of heads is their mean
 */
export const headTitle = (words, score, heads, layer, head) => {
  if (score === "alignment" || score === "hops") return words.single[score];
  if (score === "multi-step") return words.single[score](layer + 1);
  return words.layerTitle(layer + 1, heads > 1 && head === heads ? words.meanOf : words.headNumber(head + 1));
};

/**
 * Return what is known about a head over all sentences and in this one.
 * @param {Words} words
 * @param {HeadName} name
 * @param {AttentionHead} summary
 */
export const headFact = (words, { pattern: common, count, sentences }, summary) => {
  const { pattern, value, entropy, normalized_entropy: normalized, patterns } = summary;
  const here = patterns[pattern]
    ? words.patternSummary(words.patterns[pattern], percent(value))
    : words.summaries[pattern](percent(value));
  const facts = pattern === "fixed" ? here : `${here} ${words.entropy(entropy.toFixed(2), percent(normalized))}`;
  if (sentences < 2) return facts;
  const overall =
    common === "varies"
      ? words.variesIn(count, sentences)
      : words.inSentences(words.patterns[common], count, sentences);
  return `${overall} ${words.here} ${facts}`;
};

/**
 * Return the caption of a role: which vectors ask, which answer, and the equation.
 * @param {Words} words
 * @param {string} role
 * @param {{score: Score, before: number | null}} mechanism
 * @param {boolean} readsHops the keys are hops, not source tokens
 * @returns {[string, string]}
 */
export const roleCaption = (words, role, { score, before }, readsHops) => {
  const isWindow = role === "encoder" && before !== null;
  const name = readsHops ? "overHops" : score === "alignment" ? "alignment" : isWindow ? "window" : role;
  return [words.captions[name] ?? "", score ? words.equations[score] : ""];
};
