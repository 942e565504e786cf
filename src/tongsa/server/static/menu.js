/** The menu at a word of the translation. */
import { RequestError } from "./api.js";
import { $, make, nextIndex } from "./dom.js";
import { loadContinuations } from "./menu_items.js";
import { describeCode } from "./notice.js";
import { wordsOf } from "./state.js";

/** Place the menu below a word, or above it where there is more room. @param {HTMLElement} menu @param {Element} word */
const place = (menu, word) => {
  const { left, bottom, top } = word.getBoundingClientRect(),
    { offsetWidth: width, offsetHeight: height } = menu;
  const fitsBelow = bottom + 6 + height <= innerHeight || top < height + 6;
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8)) + scrollX}px`;
  menu.style.top = `${(fitsBelow ? bottom + 6 : top - height - 6) + scrollY}px`;
};

/** @param {string} text */
const message = (text) => make("p", { class: "quiet small", role: "none", text });

/**
 * Close the menu when something else is used; move within it by keys.
 * @param {Document} root
 * @param {HTMLElement} menu
 * @param {{ close: () => void, closeAndReturn: () => void }} actions
 */
const listen = (root, menu, { close, closeAndReturn }) => {
  root.addEventListener("pointerdown", (/** @type {any} */ event) => {
    if (!menu.contains(event.target)) close();
  });
  root.defaultView?.addEventListener("resize", close);
  root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (menu.hidden) return;
    const items = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("[role=menuitem]")]),
      focused = /** @type {HTMLElement} */ (root.activeElement);
    const next = menu.contains(focused) ? nextIndex(event.key, items.indexOf(focused), items.length) : null;
    if (event.key === "Escape" || event.key === "Tab") closeAndReturn();
    else if (next !== null) items[next].focus();
    else return;
    event.preventDefault();
  });
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 * @returns {(word: HTMLElement) => void} a function that opens the menu of a word
 */
export const mountMenu = (root, store, session) => {
  const menu = $("menu", root),
    result = $("result", root);
  /** @type {{ element: HTMLElement, key: string, index: number } | null} */
  let opened = null;
  /** @type {AbortController | null} */
  let controller = null;

  const close = () => {
    if (menu.hidden) return;
    menu.hidden = true;
    controller?.abort();
    for (const name of ["aria-expanded", "role", "aria-haspopup"]) opened?.element.removeAttribute(name);
    opened = null;
  };
  /** Close and focus the word again; drawing the translation may have replaced its element. */
  const closeAndReturn = () => {
    if (!opened) return;
    const { key, index } = opened;
    close();
    const words = result.querySelectorAll(`[data-key="${key}"] .word`),
      word = words[Math.min(index, words.length - 1)];
    if (word) {
      word.tabIndex = 0;
      word.focus();
    }
  };
  /** @param {import("./menu_items.js").MenuEntry} entry */
  const item = ({ text, content, use }) => {
    const click = () => {
      use();
      closeAndReturn();
    };
    const attributes = { type: "button", role: "menuitem", tabindex: -1, dir: "auto", lang: result.lang, title: text };
    return make("button", { ...attributes, click }, ...content);
  };
  /** @param {HTMLElement} word @param {Node[]} content */
  const fill = (word, content) => {
    menu.replaceChildren(...content);
    place(menu, word);
    menu.querySelector("[role=menuitem]")?.focus();
  };
  /** @param {HTMLElement} word */
  const open = async (word) => {
    close();
    const key = /** @type {HTMLElement} */ (word.closest("[data-key]")).dataset.key ?? "",
      sentence = store.get().sentences.find((other) => String(other.key) === key),
      words = wordsOf(store.get());
    if (!sentence || sentence.isPending) return;
    opened = { element: word, key, index: Number(word.dataset.word) };
    controller = new AbortController();
    const { signal } = controller;
    word.setAttribute("aria-expanded", "true");
    menu.hidden = false;
    fill(word, [message(words.searching)]);
    try {
      const entries = await loadContinuations(store.get(), session, sentence, opened.index, signal);
      if (!signal.aborted) fill(word, entries.length ? entries.map(item) : [message(words.noAlternatives)]);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RequestError)) throw error;
      fill(word, [message(describeCode(wordsOf(store.get()), error.code, error.values))]);
    }
  };

  store.subscribe(["text", "model", "mode"], close);
  listen(root, menu, { close, closeAndReturn });
  return open;
};
