/** Texts of the page in the user's language. */
import { EN } from "./page_words_en.js";
import { KO } from "./page_words_ko.js";

/** @typedef {typeof EN} Words */
/** @type {Record<"en" | "ko", Words>} */
export const WORDS = { en: EN, ko: KO };

/** Return the name of a language, or "". @param {string | undefined} code @param {string} language of the page */
export const languageName = (code, language) => {
  if (!code) return "";
  try {
    return new Intl.DisplayNames([language], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
};

/**
 * Return what the reader should know about a translated sentence.
 * @param {import("./segments.js").Sentence} sentence
 * @param {Words} words
 */
export const sentenceNotes = (sentence, words) => {
  const marks = /** @type {const} */ (["truncated", "retried", "low_score", "longer_than_training"]).filter(
    (name) => sentence[name],
  );
  const unseen = sentence.unseen_words ?? [];
  /** @type {Record<string, string>} */
  const sentences = words.flags;
  const notes = [...sentence.flags, ...marks].map((name) => sentences[name] ?? name);
  return unseen.length ? [...notes, words.unseenWords(unseen)] : notes;
};

/** Whether a sentence should be checked by the reader. @param {import("./segments.js").Sentence} sentence */
export const needsReview = (sentence) =>
  !sentence.isPending &&
  Boolean(
    sentence.flags.length ||
    sentence.truncated ||
    sentence.low_score ||
    sentence.longer_than_training ||
    sentence.unseen_words?.length,
  );

/**
 * Set the texts and attributes of all elements that name one: data-text, data-aria-label, data-placeholder.
 * @param {Document} root
 * @param {"en" | "ko"} language
 */
export const renderWords = (root, language) => {
  /** @type {any} */
  const words = WORDS[language];
  root.documentElement.lang = language;
  for (const node of root.querySelectorAll("[data-text]"))
    node.textContent = words[node.getAttribute("data-text") ?? ""];
  for (const attribute of ["aria-label", "placeholder"]) {
    for (const node of root.querySelectorAll(`[data-${attribute}]`))
      node.setAttribute(attribute, words[node.getAttribute(`data-${attribute}`) ?? ""]);
  }
};
