/** What the page knows, and what follows from it. No element of the document holds state. */
import { isTranslated } from "./segments.js";
import { WORDS } from "./words.js";

/** @typedef {import("./segments.js").Sentence} Sentence */
/** @typedef {import("./api.js").RequestError} RequestError */
/** @typedef {{ source: string, target: string }} Term */
/**
 * @typedef {object} Summary what a model was trained on
 * @property {number} training_pairs
 * @property {"pairs" | "labeled_texts" | "texts"} training_unit what training_pairs counts
 * @property {string} metric
 * @property {number} score
 * @property {string[]} examples
 * @property {string[]} control_tags
 */
/**
 * @typedef {object} Model as /v1/models describes it
 * @property {string} name
 * @property {string} kind
 * @property {"seq2seq" | "classification" | "language_model"} task
 * @property {string} source_language
 * @property {string} target_language
 * @property {string[]} views
 * @property {boolean} default
 * @property {number} parameters
 * @property {Summary} [summary]
 */
/**
 * @typedef {object} Notice
 * @property {"error" | "waiting" | "info"} kind
 * @property {string} code key of words.errors
 * @property {(string | number)[]} [values] arguments of the sentence
 * @property {string} [detail] sentence of the server
 * @property {number | null} [retryAt] time in ms (performance.now) of the next retry
 * @property {(() => void) | null} [retry]
 * @property {{ label: string, run: () => void } | null} [action] a remedy; its label is a key of words
 */
/**
 * @typedef {object} State
 * @property {"en" | "ko"} language
 * @property {"system" | "light" | "dark"} theme
 * @property {boolean} shading
 * @property {"text" | "document"} mode
 * @property {Model[]} models
 * @property {Record<string, number>} limits
 * @property {{ name: string, extensions: string[], has_columns: boolean }[]} formats of documents that are kept
 * @property {boolean} acceptsCorrections
 * @property {string} model name of the selected model
 * @property {string} style control tag before each sentence, or ""
 * @property {Term[]} terms
 * @property {string} text
 * @property {Sentence[]} sentences translations of the text so far, with positions in it
 * @property {number | null} active key of the active sentence
 * @property {boolean} busy
 * @property {Notice | null} notice
 * @property {{ text: string, response: any } | null} answer a text with its label or its score
 * @property {string} announcement what a screen reader says
 * @property {string} detected language that the text seems to be in, or ""
 */
/** @typedef {import("./store.js").Store<State>} PageStore */

/** @returns {State} */
export const initialState = () => ({
  language: "en",
  theme: "system",
  shading: true,
  mode: "text",
  models: [],
  limits: {},
  formats: [],
  acceptsCorrections: false,
  model: "",
  style: "",
  terms: [],
  text: "",
  sentences: [],
  active: null,
  busy: false,
  notice: null,
  answer: null,
  announcement: "",
  detected: "",
});

/** State of a result that belongs to no text. @returns {Partial<State>} */
export const emptyResult = () => ({ sentences: [], active: null, answer: null });

/** @param {State} state */
export const wordsOf = (state) => WORDS[state.language];
/** @param {State} state */
export const currentModel = (state) => state.models.find((model) => model.name === state.model) ?? null;
/** @param {State} state */
export const taskOf = (state) => currentModel(state)?.task ?? "seq2seq";

/** The mode that is shown: documents are for translation only. @param {State} state */
export const modeOf = (state) => (taskOf(state) === "seq2seq" ? state.mode : "text");

/** The index of the active sentence: the last one if none is active; −1 without sentences. @param {State} state */
export const activeIndex = ({ sentences, active }) => {
  const index = sentences.findIndex((sentence) => sentence.key === active);
  return index >= 0 ? index : sentences.length - 1;
};

/** Whether a result is shown, of whatever text. @param {State} state */
export const hasResult = (state) => state.sentences.length > 0 || state.answer !== null;

/** Whether the result is that of the present text, and of all of it. @param {State} state */
export const isComplete = (state) => {
  if (taskOf(state) !== "seq2seq") return state.answer?.text === state.text;
  return !state.sentences.some((sentence) => sentence.isPending) && isTranslated(state.text, state.sentences);
};

/** Whether a result is shown that belongs to an earlier text, and no request is under way. @param {State} state */
export const isStale = (state) => hasResult(state) && !state.busy && !isComplete(state);

/** The model for the opposite direction. @param {State} state @returns {Model | undefined} */
export const oppositeModel = (state) => {
  const model = currentModel(state);
  if (!model?.source_language || model.task !== "seq2seq") return undefined;
  return state.models.find(
    (other) =>
      other.task === "seq2seq" &&
      other.source_language === model.target_language &&
      other.target_language === model.source_language,
  );
};

/**
 * Models that translate from a language, those into the present target language first.
 * @param {State} state
 * @param {string} language
 */
export const modelsFrom = (state, language) => {
  const target = currentModel(state)?.target_language;
  const models = state.models.filter((model) => model.task === "seq2seq" && model.source_language === language);
  return models.sort((a, b) => Number(b.target_language === target) - Number(a.target_language === target));
};

/** What every request about the present text sends. @param {State} state */
export const requestBase = (state) => ({
  model: state.model,
  ...(state.style ? { control_tag: state.style } : {}),
  ...(state.terms.length ? { glossary: state.terms } : {}),
});
