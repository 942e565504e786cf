/** Requests of the tasks: translate the changed part of a text, label a text, score a text. */
import { postJSON, postStream } from "./api.js";
import { codePointOffsets, countCharacters } from "./characters.js";
import { percent } from "./format.js";
import { joinSentences, locateSentence, planUpdate } from "./segments.js";
import { requestBase } from "./state.js";

/** @typedef {import("./state.js").PageStore} PageStore */
/** @typedef {import("./segments.js").Sentence} Sentence */

/**
 * Return a function that translates the part of the text that has no translation yet. The same part is asked for once.
 * @param {PageStore} store
 * @param {{ get: (key: string) => any[] | undefined, set: (key: string, responses: any[]) => void }} cache
 * @param {(sentence: Sentence) => Sentence} applyChoice
 */
export const createTranslate = (store, cache, applyChoice) => {
  let nextKey = 1;
  /** @param {string} source */
  const cacheKey = (source) => JSON.stringify([requestBase(store.get()), source]);
  /** @param {string} part @param {any[]} responses */
  const remember = (part, responses) => {
    cache.set(cacheKey(part), responses);
    for (const response of responses) {
      cache.set(cacheKey(response.source), [{ ...response, start: 0, end: countCharacters(response.source) }]);
    }
  };

  /** @param {string} text @param {AbortSignal} signal @param {() => void} onFirst called at the first sentence */
  return async (text, signal, onFirst) => {
    const { before, replaced, after, begin, end } = planUpdate(text, store.get().sentences, text);
    const part = text.slice(begin, end),
      offsets = codePointOffsets(part);
    /** @type {Sentence[]} */
    const translated = [];
    /** @param {Sentence[]} rest */
    const show = (rest) => store.set({ sentences: [...before, ...translated, ...rest, ...after] });
    /** @param {any} response */
    const add = (response) => {
      const key = replaced[translated.length]?.key ?? nextKey++;
      translated.push(applyChoice({ ...locateSentence(part, offsets, response, begin), key }));
    };
    const cached = part ? cache.get(cacheKey(part)) : [];
    if (cached) cached.forEach(add);
    else {
      const body = { ...requestBase(store.get()), text: part, alignments: true, word_probabilities: true };
      const responses = [];
      for await (const line of postStream("/v1/translate", body, signal)) {
        if (!line.sentence) continue;
        if (!responses.length) onFirst();
        const { alternatives: _, ...response } = line.sentence; // asked for when a sentence becomes active
        responses.push(response);
        add(response);
        show(replaced.slice(translated.length));
      }
      remember(part, responses);
    }
    show([]);
    store.set({ announcement: joinSentences(text, store.get().sentences) });
  };
};

/** @param {PageStore} store @returns {(text: string, signal: AbortSignal) => Promise<void>} */
export const createClassify = (store) => async (text, signal) => {
  const { labels } = await postJSON("/v1/classify", { model: store.get().model, text }, signal);
  const [response] = labels;
  store.set({ answer: { text, response }, announcement: `${response.label} ${percent(response.probability)}` });
};

/** @param {PageStore} store @returns {(text: string, signal: AbortSignal) => Promise<void>} */
export const createScore = (store) => async (text, signal) => {
  const response = await postJSON("/v1/score", { model: store.get().model, source: "", target: text }, signal);
  store.set({ answer: { text, response } });
};
