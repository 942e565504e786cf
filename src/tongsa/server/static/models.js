/** The model: its list, and the titles, buttons and modes that depend on it. */
import { countCharacters } from "./characters.js";
import { $, make } from "./dom.js";
import { activeIndex, currentModel, hasResult, isComplete, modeOf, oppositeModel, taskOf, wordsOf } from "./state.js";
import { saveSetting } from "./storage.js";
import { languageName } from "./words.js";

/** @typedef {import("./state.js").State} State */

const VIEWS = ["attention", "tree", "trace", "positions", "curves"];
/** Element → the tasks for which it is shown. @type {Record<string, string[]>} */
const TASKS = {
  glossary: ["seq2seq"],
  switch: ["seq2seq"],
  swap: ["seq2seq"],
  copy: ["seq2seq"],
  "shading-field": ["seq2seq", "language_model"],
  "request-open": ["seq2seq", "classification"],
  continue: ["language_model"],
};

/** Return "English → Korean", or "". @param {import("./state.js").Model} model @param {string} language */
export const direction = ({ source_language: source, target_language: target }, language) =>
  source && target ? `${languageName(source, language)} → ${languageName(target, language)}` : "";

/** @param {HTMLElement} element @param {string | undefined} language */
const setLanguage = (element, language) => {
  if (language) element.lang = language;
  else element.removeAttribute("lang");
};

/** @param {Document} root @param {State} state */
const renderTask = (root, state) => {
  const model = currentModel(state),
    task = taskOf(state),
    words = wordsOf(state);
  const target = task === "seq2seq" ? model?.target_language : "";
  const plain = task === "seq2seq" ? words.source : words.input;
  const titles = {
    seq2seq: languageName(target, state.language) || words.target,
    classification: words.label,
    language_model: words.probability,
  };
  $("source-title", root).textContent = languageName(model?.source_language, state.language) || plain;
  $("target-title", root).textContent = titles[task];
  setLanguage($("source", root), model?.source_language);
  for (const id of ["result", "editor-text"]) setLanguage($(id, root), target);
  for (const [id, tasks] of Object.entries(TASKS)) $(id, root).hidden = !tasks.includes(task);
  for (const view of VIEWS) $(`open-${view}`, root).hidden = !model?.views.includes(view);
  $("look", root).hidden = !model?.views.length;
  $("swap", root).setAttribute("aria-disabled", String(!oppositeModel(state)));
};

/** @param {Document} root @param {State} state */
const renderList = (root, state) => {
  const select = $("model", root);
  select.replaceChildren(
    ...state.models.map((model) =>
      make("option", {
        value: model.name,
        text: [model.name, direction(model, state.language)].filter(Boolean).join(" · "),
      }),
    ),
  );
  select.value = state.model;
  select.disabled = state.models.length < 2;
};

/** @param {Document} root @param {State} state */
const renderMode = (root, state) => {
  for (const mode of ["text", "document"]) {
    const isShown = mode === modeOf(state);
    $(`${mode}-mode`, root).hidden = !isShown;
    $(`mode-${mode}`, root).setAttribute("aria-pressed", String(isShown));
  }
};

/**
 * The views of a sentence need its translation, and a sentence that is not too long.
 * @param {Document} root
 * @param {State} state
 */
const renderViews = (root, state) => {
  const sentence = state.sentences[activeIndex(state)],
    limit = state.limits.sentence_characters ?? Infinity;
  const isReady = hasResult(state) && (sentence ? !sentence.isPending : isComplete(state));
  const isTooLong = countCharacters(sentence?.source ?? state.text) > limit;
  for (const view of ["attention", "tree", "trace"]) {
    $(`open-${view}`, root).disabled = !isReady;
    $(`open-${view}`, root).setAttribute("aria-disabled", String(!isReady || isTooLong));
  }
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 * @returns {(name: string) => void} a function that selects a model
 */
export const mountModels = (root, store, session) => {
  /** @param {string} name */
  const use = (name) => {
    if (name === store.get().model) return;
    saveSetting("model", name);
    session.useModel(name);
    session.translateNow();
  };
  store.subscribe(["models", "model", "language"], (state) => {
    renderList(root, state);
    renderTask(root, state);
  });
  store.subscribe(["mode", "models", "model"], (state) => renderMode(root, state));
  store.subscribe(["sentences", "answer", "active", "limits", "text", "busy"], (state) => renderViews(root, state));
  $("model", root).addEventListener("change", () => use($("model", root).value));
  for (const mode of /** @type {const} */ (["text", "document"]))
    $(`mode-${mode}`, root).addEventListener("click", () => store.set({ mode }));
  return use;
};
