/** A hint when the text seems to be in another language than the model reads, and another model reads that one. */
import { postJSON, RequestError } from "./api.js";
import { countCharacters } from "./characters.js";
import { $ } from "./dom.js";
import { currentModel, modelsFrom, taskOf, wordsOf } from "./state.js";
import { languageName } from "./words.js";

/** Characters of a text whose language is guessed, and how sure the guess must be, in percent. */
const MIN_CHARACTERS = 12,
  MAX_CHARACTERS = 500,
  MIN_CONFIDENCE = 75;
/** Milliseconds without typing before the language is guessed. */
const PAUSE = 700;

/** Whether another model could read the text. @param {import("./state.js").State} state */
const canSwitch = (state) => {
  const languages = state.models.filter((model) => model.task === "seq2seq").map((model) => model.source_language);
  return taskOf(state) === "seq2seq" && Boolean(currentModel(state)?.source_language) && new Set(languages).size > 1;
};

/** @param {Document} root @param {import("./state.js").PageStore} store @param {(name: string) => void} useModel */
export const mountLanguageHint = (root, store, useModel) => {
  let timer = 0;
  const detect = async () => {
    const { text: whole, limits } = store.get(),
      text = whole.slice(0, Math.min(MAX_CHARACTERS, limits.characters ?? MAX_CHARACTERS));
    if (!canSwitch(store.get()) || countCharacters(text.trim()) < MIN_CHARACTERS) {
      store.set({ detected: "" });
      return;
    }
    try {
      const [{ language, confidence }] = await postJSON("/detect", { q: text });
      if (store.get().text.startsWith(text)) store.set({ detected: confidence >= MIN_CONFIDENCE ? language : "" });
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    }
  };
  store.subscribe(["text", "model", "models"], ({ text }) => {
    clearTimeout(timer);
    if (text.trim()) timer = setTimeout(detect, PAUSE);
    else store.set({ detected: "" });
  });
  store.subscribe(["detected", "models", "model", "language"], (state) => {
    const [model] = modelsFrom(state, state.detected),
      words = wordsOf(state);
    const isOther = Boolean(model) && state.detected !== currentModel(state)?.source_language;
    $("language-hint", root).hidden = !isOther;
    $("language-hint-text", root).textContent = isOther
      ? words.looksLike(languageName(state.detected, state.language))
      : "";
    $("language-hint-use", root).textContent = isOther ? words.useModel(model.name) : "";
  });
  $("language-hint-use", root).addEventListener("click", () => {
    const [model] = modelsFrom(store.get(), store.get().detected);
    if (model) useModel(model.name);
    $("source", root).focus();
  });
};
