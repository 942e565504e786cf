/** The text outlives a reload; a link opens the page with a text; on request the last texts are kept. */
import { formatLink, parseLink } from "./address.js";
import { $, make } from "./dom.js";
import { truncate } from "./format.js";
import { isComplete, wordsOf } from "./state.js";
import { loadSession, loadSetting, saveSession, saveSetting } from "./storage.js";

const MAX_HISTORY = 20,
  MAX_PREVIEW = 80;
/** Milliseconds after which a translated text enters the history: not every version of a text that is being typed. */
const HISTORY_PAUSE = 3000;

/**
 * Return the history with a text as its newest entry; a text that continues the last one replaces it.
 * @param {string[]} history
 * @param {string} text
 */
export const addToHistory = (history, text) => {
  const others = history.filter((other, i) => other !== text && !(i === 0 && text.startsWith(other)));
  return [text, ...others].slice(0, MAX_HISTORY);
};

/** The text and the model that the page opens with: those of the link, else those before the reload. */
export const restoredText = () => {
  const link = parseLink(location.hash);
  return link.text ? link : { model: link.model || loadSession("model", ""), text: loadSession("text", "") };
};

/**
 * The last texts, kept in this browser if the reader wants it.
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {(text: string) => void} replaceText
 */
const mountHistory = (root, store, replaceText) => {
  /** @type {string[]} */
  let history = loadSetting("history", []);
  let isKept = loadSetting("keepHistory", false),
    timer = 0;

  /** @param {string} text */
  const use = (text) => {
    replaceText(text);
    $("history", root).close();
    $("source", root).focus();
  };
  /** @param {string} text */
  const item = (text) => {
    const preview = truncate(text, MAX_PREVIEW);
    return make("li", {}, make("button", { type: "button", dir: "auto", text: preview, click: () => use(text) }));
  };
  const show = () => {
    const empty = make("li", { class: "quiet", text: wordsOf(store.get()).historyEmpty });
    $("history-list", root).replaceChildren(...(history.length ? history.map(item) : [empty]));
    $("history-keep", root).checked = isKept;
    $("history-clear", root).hidden = !history.length;
  };
  const save = () => saveSetting("history", isKept && history.length ? history : undefined);

  store.subscribe(["text", "sentences", "answer"], (state) => {
    clearTimeout(timer);
    if (!isKept || !state.text.trim() || !isComplete(state)) return;
    timer = setTimeout(() => {
      history = addToHistory(history, state.text);
      save();
    }, HISTORY_PAUSE);
  });
  $("history-open", root).addEventListener("click", () => {
    show();
    $("history", root).showModal();
  });
  $("history-keep", root).addEventListener("change", () => {
    isKept = $("history-keep", root).checked;
    saveSetting("keepHistory", isKept);
    if (!isKept) history = [];
    save();
    show();
  });
  $("history-clear", root).addEventListener("click", () => {
    history = [];
    save();
    show();
  });
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {{ replaceText: (text: string) => void, useModel: (name: string) => void }} actions
 */
export const mountShare = (root, store, { replaceText, useModel }) => {
  mountHistory(root, store, replaceText);
  store.subscribe(["text", "model"], ({ text, model }) => {
    if (!model) return; // before the text is restored
    saveSession("text", text);
    saveSession("model", model);
    const link = parseLink(location.hash);
    if (location.hash && (link.text || !link.look) && link.text !== text)
      root.defaultView?.history.replaceState(null, "", location.pathname); // the link is of another text now
  });
  $("share", root).addEventListener("click", async () => {
    const { model, text } = store.get(),
      link = formatLink({ model, text }),
      words = wordsOf(store.get());
    root.defaultView?.history.replaceState(null, "", link);
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    store.set({ announcement: words.shareCopied });
    $("share", root).textContent = words.shareCopied;
    setTimeout(() => {
      $("share", root).textContent = wordsOf(store.get()).share;
    }, 1500);
  });
  root.defaultView?.addEventListener("hashchange", () => {
    const { model, text, look } = parseLink(location.hash);
    if (!text && !look) return;
    if (store.get().models.some((other) => other.name === model)) useModel(model);
    if (text && text !== store.get().text) replaceText(text);
  });
};
