/** The menu at a word of the translation: other continuations of the sentence from there. */
import { postJSON, RequestError } from "./api.js";
import { changedWords } from "./differences.js";
import { $, make, nextIndex } from "./dom.js";
import { probability as formatProbability } from "./format.js";
import { describeCode } from "./notice.js";
import { wordsOf } from "./state.js";

/** @typedef {import("./segments.js").Sentence} Sentence */

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
  /** @param {HTMLElement} word */
  const place = (word) => {
    const { left, bottom, top } = word.getBoundingClientRect(),
      { offsetWidth: width, offsetHeight: height } = menu;
    const fitsBelow = bottom + 6 + height <= innerHeight || top < height + 6;
    menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8)) + scrollX}px`;
    menu.style.top = `${(fitsBelow ? bottom + 6 : top - height - 6) + scrollY}px`;
  };
  /** @param {string} text @param {(Node | string)[]} content @param {() => void} use */
  const item = (text, content, use) =>
    make(
      "button",
      {
        type: "button",
        role: "menuitem",
        tabindex: -1,
        dir: "auto",
        lang: result.lang,
        title: text,
        click: () => {
          use();
          closeAndReturn();
        },
      },
      ...content,
    );
  /** @param {string} text */
  const message = (text) => make("p", { class: "quiet small", role: "none", text });
  /** @param {HTMLElement} word @param {Node[]} content */
  const fill = (word, content) => {
    menu.replaceChildren(...content);
    place(word);
    menu.querySelector("[role=menuitem]")?.focus();
  };
  /**
   * The first word after the prefix in bold; changed words of the rest are marked.
   * @param {Sentence} sentence
   * @param {string} prefix
   * @param {string} text
   */
  const continuation = (sentence, prefix, text) => {
    const start = prefix.trimEnd(),
      tail = text.startsWith(start) ? text.slice(start.length) : text;
    const words = changedWords(sentence.text.slice(start.length), tail);
    if (!words.length) return [make("b", { text: wordsOf(store.get()).endsHere })];
    return words.flatMap(({ word, isChanged }, i) => [
      i ? " " : "",
      i ? make(isChanged ? "mark" : "span", { text: word }) : make("b", { text: word }),
    ]);
  };
  /**
   * The continuation, the terms that it lacks, and its probability.
   * @param {Sentence} sentence
   * @param {string} prefix
   * @param {{ text: string, probability: number, terms?: { text: string, satisfied: boolean }[] }} other
   */
  const itemContent = (sentence, prefix, { text, probability, terms = [] }) => {
    const missing = terms.filter((term) => !term.satisfied).map((term) => term.text);
    const note = `${wordsOf(store.get()).termUnsatisfied}: ${missing.join(", ")}`;
    return [
      make("span", {}, ...continuation(sentence, prefix, text)),
      ...(missing.length ? [make("span", { class: "flag small", text: note })] : []),
      make("span", { class: "figure small", text: formatProbability(Math.log(probability)) }),
    ];
  };
  /** @param {HTMLElement} word @param {Sentence} sentence @param {AbortSignal} signal */
  const load = async (word, sentence, signal) => {
    const state = store.get(),
      words = wordsOf(state),
      prefix = sentence.text.slice(0, sentence.targetWords[Number(word.dataset.word)].begin);
    const text = [state.style, sentence.source].filter(Boolean).join(" ");
    const body = { model: state.model, text, prefix, glossary: state.terms };
    const { alternatives } = await postJSON("/v1/alternatives", body, signal);
    /** @type {Map<string, any>} */
    const others = new Map(alternatives.map((/** @type {any} */ other) => [other.text, other]));
    others.delete(sentence.text);
    const items = [...others.values()].map((other) =>
      item(other.text, itemContent(sentence, prefix, other), () =>
        session.choose(sentence, other.text, other.final_punctuation),
      ),
    );
    if (sentence.original && sentence.original !== sentence.text) {
      items.push(
        item(sentence.original, [make("span", { class: "quiet", text: `↩ ${words.original}` })], () =>
          session.restore(sentence),
        ),
      );
    }
    return items.length ? items : [message(words.noAlternatives)];
  };
  /** @param {HTMLElement} word */
  const open = async (word) => {
    close();
    const key = /** @type {HTMLElement} */ (word.closest("[data-key]")).dataset.key ?? "";
    const sentence = store.get().sentences.find((other) => String(other.key) === key);
    if (!sentence || sentence.isPending) return;
    opened = { element: word, key, index: Number(word.dataset.word) };
    controller = new AbortController();
    const { signal } = controller;
    word.setAttribute("aria-expanded", "true");
    menu.hidden = false;
    fill(word, [message(wordsOf(store.get()).searching)]);
    try {
      const content = await load(word, sentence, signal);
      if (!signal.aborted) fill(word, content);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RequestError)) throw error;
      fill(word, [message(describeCode(wordsOf(store.get()), error.code, error.values))]);
    }
  };

  store.subscribe(["text", "model", "mode"], close);
  root.addEventListener("pointerdown", (/** @type {any} */ event) => {
    if (!menu.contains(event.target)) close();
  });
  root.defaultView?.addEventListener("resize", close);
  root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (menu.hidden) return;
    const items = [...menu.querySelectorAll("[role=menuitem]")],
      index = items.indexOf(root.activeElement);
    const next = menu.contains(root.activeElement) ? nextIndex(event.key, index, items.length) : null;
    if (event.key === "Escape" || event.key === "Tab") closeAndReturn();
    else if (next !== null) items[next].focus();
    else return;
    event.preventDefault();
  });
  return open;
};
