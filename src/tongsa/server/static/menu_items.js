/** Entries of the menu at a word: other continuations of the sentence from there. */
import { postJSON } from "./api.js";
import { changedWords } from "./differences.js";
import { make } from "./dom.js";
import { probability as formatProbability } from "./format.js";
import { wordsOf } from "./state.js";

/** @typedef {import("./segments.js").Sentence} Sentence */
/** @typedef {import("./words.js").Words} Words */
/**
 * @typedef {object} Continuation as /v1/alternatives describes it
 * @property {string} text
 * @property {string} final_punctuation
 * @property {number} probability
 * @property {{ text: string, satisfied: boolean }[]} [terms]
 */
/** @typedef {{ text: string, content: (Node | string)[], use: () => void }} MenuEntry */

/**
 * The first word after the prefix in bold; changed words of the rest are marked.
 * @param {Sentence} sentence
 * @param {string} prefix
 * @param {string} text
 * @param {Words} words
 */
const continuationText = (sentence, prefix, text, words) => {
  const start = prefix.trimEnd(),
    tail = text.startsWith(start) ? text.slice(start.length) : text;
  const changes = changedWords(sentence.text.slice(start.length), tail);
  if (!changes.length) return [make("b", { text: words.endsHere })];
  return changes.flatMap(({ word, isChanged }, i) => [
    i ? " " : "",
    i ? make(isChanged ? "mark" : "span", { text: word }) : make("b", { text: word }),
  ]);
};

/**
 * The continuation, the terms that it lacks, and its probability.
 * @param {Sentence} sentence
 * @param {string} prefix
 * @param {Continuation} continuation
 * @param {Words} words
 */
const entryContent = (sentence, prefix, { text, probability, terms = [] }, words) => {
  const missing = terms.filter((term) => !term.satisfied).map((term) => term.text);
  const note = `${words.termUnsatisfied}: ${missing.join(", ")}`;
  return [
    make("span", {}, ...continuationText(sentence, prefix, text, words)),
    ...(missing.length ? [make("span", { class: "flag small", text: note })] : []),
    make("span", { class: "figure small", text: formatProbability(Math.log(probability)) }),
  ];
};

/**
 * Ask for the other continuations of a sentence from a word on; the last entry leads back to the first translation.
 * @param {import("./state.js").State} state
 * @param {import("./session.js").Session} session
 * @param {Sentence} sentence
 * @param {number} wordIndex
 * @param {AbortSignal} signal
 * @returns {Promise<MenuEntry[]>}
 */
export const loadContinuations = async (state, session, sentence, wordIndex, signal) => {
  const words = wordsOf(state),
    prefix = sentence.text.slice(0, sentence.targetWords[wordIndex].begin),
    text = [state.style, sentence.source].filter(Boolean).join(" ");
  const body = { model: state.model, text, prefix, glossary: state.terms };
  const { alternatives } = await postJSON("/v1/alternatives", body, signal);
  /** @type {Map<string, Continuation>} */
  const others = new Map(alternatives.map((/** @type {Continuation} */ other) => [other.text, other]));
  others.delete(sentence.text);
  const entries = [...others.values()].map((other) => ({
    text: other.text,
    content: entryContent(sentence, prefix, other, words),
    use: () => session.choose(sentence, other.text, other.final_punctuation),
  }));
  if (!sentence.original || sentence.original === sentence.text) return entries;
  const back = make("span", { class: "quiet", text: `↩ ${words.original}` });
  return [...entries, { text: sentence.original, content: [back], use: () => session.restore(sentence) }];
};
