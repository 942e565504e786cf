/** Translations that the user chose instead of the model's. They stay while the rest of the text changes. */
import { postJSON, RequestError } from "./api.js";
import { replaceTranslation } from "./segments.js";
import { requestBase } from "./state.js";

/** @typedef {import("./segments.js").Sentence} Sentence */

/** @param {import("./state.js").PageStore} store */
export const createChoices = (store) => {
  /** Source sentence → the chosen translation. @type {Map<string, any>} */
  const chosen = new Map();

  /** Return the sentence with the translation that the user chose, if any. @param {Sentence} sentence */
  const apply = (sentence) => {
    const choice = chosen.get(sentence.source);
    if (!choice) return sentence;
    return { ...replaceTranslation(sentence, choice), original: sentence.original ?? sentence.text };
  };
  /** @param {string} source @param {any} choice */
  const set = (source, choice) => {
    chosen.set(source, choice);
    const { sentences } = store.get();
    store.set({
      sentences: sentences.map((other) => (other.source === source && !other.isPending ? apply(other) : other)),
    });
  };
  return {
    apply,
    clear: () => chosen.clear(),
    /** @param {Sentence} sentence */
    forget: (sentence) => chosen.delete(sentence.source),
    /**
     * Use another translation of a sentence, and ask for its details.
     * @param {Sentence} sentence
     * @param {string} text
     * @param {string} [finalPunctuation] the stop that the text lacks
     */
    choose: async ({ source }, text, finalPunctuation = "") => {
      set(source, { text, finalPunctuation });
      store.set({ announcement: text });
      const details = { prefix: text, alignments: true, word_probabilities: true };
      try {
        const body = { ...requestBase(store.get()), text: source, ...details };
        const { sentences } = (await postJSON("/v1/translate", body)).translations[0];
        // the model may continue after the given text: then its details are not those of the choice
        if (sentences.length > 1 || sentences[0].text !== text || chosen.get(source)?.text !== text) return;
        const { alignment, words, confidence, flags } = sentences[0];
        set(source, { text, finalPunctuation, alignment, words, confidence, flags });
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
      }
    },
  };
};
