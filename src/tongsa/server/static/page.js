/** The page: creates its parts, connects them through the store, and asks the server for its models. */
import { mountAlignment } from "./alignment.js";
import { mountAlternatives, mountReview } from "./alternatives.js";
import { getJSON, request, RequestError } from "./api.js";
import { mountContinuation } from "./continuation.js";
import { mountDocuments } from "./documents.js";
import { $ } from "./dom.js";
import { mountEditor } from "./editor.js";
import { mountGlossary } from "./glossary.js";
import { mountLanguageHint } from "./language_hint.js";
import { mountMenu } from "./menu.js";
import { mountModels } from "./models.js";
import { errorNotice, mountNotice } from "./notice.js";
import { mountRequestPanel } from "./request_panel.js";
import { mountResult, mountWordKeys } from "./result.js";
import { joinSentences } from "./segments.js";
import { createSession } from "./session.js";
import { mountShare, restoredText } from "./share.js";
import { mountShortcuts } from "./shortcuts.js";
import { mountSource } from "./source.js";
import { currentModel, initialState, oppositeModel, wordsOf } from "./state.js";
import { loadSetting, saveSetting } from "./storage.js";
import { createStore } from "./store.js";
import { mountSummary } from "./summary.js";
import { mountViews } from "./views.js";
import { languageName, renderWords } from "./words.js";

/** @typedef {import("./state.js").PageStore} PageStore */

const THEMES = /** @type {const} */ (["system", "light", "dark"]);
/** Milliseconds before a screen reader announces the result, so that it does not interrupt typing. */
const ANNOUNCE_DELAY = 600;

/** @returns {Partial<import("./state.js").State>} */
const savedSettings = () => ({
  language: loadSetting("language", (navigator.language || "").startsWith("ko") ? "ko" : "en"),
  theme: loadSetting("theme", "system"),
  shading: loadSetting("shading", true),
  text: restoredText().text,
});

/** Language, theme, highlighting, announcements. @param {Document} root @param {PageStore} store */
const mountSettings = (root, store) => {
  let timer = 0;
  store.subscribe(["language"], (state) => {
    renderWords(root, state.language);
    const words = wordsOf(state),
      button = $("language", root);
    button.textContent = words.otherLanguage;
    button.setAttribute("aria-label", words.otherLanguageLabel);
    button.lang = state.language === "en" ? "ko" : "en";
  });
  store.subscribe(["theme", "language"], (state) => {
    const words = wordsOf(state),
      { theme } = state;
    if (theme === "system") delete root.documentElement.dataset.theme;
    else root.documentElement.dataset.theme = theme;
    $("theme", root).textContent = words.theme[theme];
    $("theme", root).setAttribute("aria-label", words.themeLabel(words.theme[theme]));
  });
  store.subscribe(["shading"], ({ shading }) => {
    $("shading", root).checked = shading;
  });
  store.subscribe(["announcement"], ({ announcement }) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      $("live", root).textContent = announcement;
    }, ANNOUNCE_DELAY);
  });
  $("language", root).addEventListener("click", () => {
    const language = store.get().language === "ko" ? "en" : "ko";
    saveSetting("language", language);
    store.set({ language });
  });
  $("theme", root).addEventListener("click", () => {
    const theme = THEMES[(THEMES.indexOf(store.get().theme) + 1) % THEMES.length];
    saveSetting("theme", theme);
    store.set({ theme });
  });
  $("shading", root).addEventListener("change", () => {
    const shading = $("shading", root).checked;
    saveSetting("shading", shading);
    store.set({ shading });
  });
};

/**
 * Copy and Swap.
 * @param {Document} root
 * @param {PageStore} store
 * @param {import("./session.js").Session} session
 * @param {(name: string) => void} useModel
 */
const mountActions = (root, store, session, useModel) => {
  let timer = 0;
  const translation = () => joinSentences(store.get().text, store.get().sentences);
  // over plain http from another machine there is no clipboard API
  const copySelection = () => {
    const area = root.createElement("textarea");
    area.value = translation();
    root.body.append(area);
    area.select();
    root.execCommand("copy");
    area.remove();
    $("copy", root).focus();
  };
  $("copy", root).addEventListener("click", async () => {
    const words = wordsOf(store.get());
    if (navigator.clipboard) await navigator.clipboard.writeText(translation()).catch(copySelection);
    else copySelection();
    $("copy", root).textContent = words.copied;
    store.set({ announcement: words.copied });
    clearTimeout(timer);
    timer = setTimeout(() => {
      $("copy", root).textContent = wordsOf(store.get()).copy;
    }, 1500);
  });
  $("swap", root).addEventListener("click", () => {
    const state = store.get(),
      text = translation(),
      model = currentModel(state),
      opposite = oppositeModel(state);
    if (opposite) {
      useModel(opposite.name);
      session.replaceText(text);
    } else if (model?.source_language) {
      const values = [model.target_language, model.source_language].map((code) => languageName(code, state.language));
      store.set({ notice: { kind: "info", code: "no_swap", values } });
    }
  });
};

/**
 * Ask for the models until the server has them, then translate.
 * @param {PageStore} store
 * @param {import("./session.js").Session} session
 */
const connect = async (store, session, failures = 1) => {
  try {
    const [, { models, limits = {}, corrections = false }] = await Promise.all([
      request("/readyz"),
      getJSON("/v1/models"),
    ]);
    const wanted = [restoredText().model, loadSetting("model", "")],
      named = wanted.map((name) => models.find((/** @type {any} */ model) => model.name === name));
    const model = named.find(Boolean) ?? models.find((/** @type {any} */ other) => other.default) ?? models[0];
    store.set({ models, limits, acceptsCorrections: corrections, model: model.name, notice: null });
    await session.translateNow();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const isLoading = error.code === "busy";
    const known = isLoading ? new RequestError("loading", { retryAfter: error.retryAfter }) : error;
    const retry = () => {
      connect(store, session, isLoading ? 1 : failures + 1);
    };
    store.set({ notice: errorNotice(known, { retry, failures, kind: isLoading ? "waiting" : "error" }) });
  }
};

/** @param {Document} root */
export const mount = (root) => {
  const store = createStore({ ...initialState(), ...savedSettings() }),
    session = createSession(store);
  mountSettings(root, store);
  mountResult(root, store);
  mountSource(root, store, session);
  mountAlignment(root, store);
  mountWordKeys(root, store, mountMenu(root, store, session));
  mountAlternatives(root, store, session);
  mountReview(root, store);
  mountEditor(root, store, session);
  const useModel = mountModels(root, store, session);
  mountSummary(root, store, session);
  mountLanguageHint(root, store, useModel);
  mountGlossary(root, store, session);
  mountActions(root, store, session, useModel);
  mountNotice(root, store, { openAsDocument: mountDocuments(root, store).openText });
  mountShortcuts(root, store, session.translateNow);
  mountShare(root, store, { replaceText: session.replaceText, useModel });
  mountViews(root, store); // after the link's text is used
  mountRequestPanel(root, store);
  mountContinuation(root, store, session);
  $("source", root).focus();
  connect(store, session);
};
