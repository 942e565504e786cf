/** Word alignment: the word under the pointer, the focus or the caret and its linked words are highlighted. */
import { $ } from "./dom.js";

/** @param {Document} root @param {import("./state.js").PageStore} store */
export const mountAlignment = (root, store) => {
  const mirror = $("mirror", root),
    source = $("source", root),
    result = $("result", root);
  /** @type {HTMLElement[]} */
  let highlighted = [];

  const clear = () => {
    for (const word of highlighted) word.classList.remove("linked", "selected");
    highlighted = [];
  };
  /** @param {HTMLElement} side @param {string} key @param {number} word @returns {HTMLElement | null} */
  const findWord = (side, key, word) => side.querySelector(`[data-key="${key}"] [data-word="${word}"]`);

  /** Highlight a word and its links. @param {HTMLElement} side @param {HTMLElement | null | undefined} word */
  const highlight = (side, word) => {
    clear();
    const key = /** @type {HTMLElement | null} */ (word?.closest("[data-key]"))?.dataset.key;
    const sentence = store.get().sentences.find((other) => String(other.key) === key);
    if (!word || !key || !sentence) return;
    const from = side === mirror ? 0 : 1,
      index = Number(word.dataset.word),
      otherSide = side === mirror ? result : mirror;
    const linked = sentence.links
      .filter((link) => link[from] === index)
      .map((link) => findWord(otherSide, key, link[1 - from]));
    word.classList.add("selected");
    for (const other of linked) other?.classList.add("linked");
    highlighted = [word, ...linked.flatMap((other) => other ?? [])];
  };
  /**
   * The text area is above the mirror and receives all events, so the word is found by the pointer's position.
   * @param {PointerEvent} event
   */
  const wordUnderPointer = (event) =>
    /** @type {HTMLElement | undefined} */ (
      document.elementsFromPoint(event.clientX, event.clientY).find((node) => node.classList.contains("source-word"))
    );

  const wordAtCaret = () => {
    const caret = source.selectionStart;
    for (const { key, begin, sourceWords, isUnchanged, isPending } of store.get().sentences) {
      if (!isUnchanged || isPending) continue;
      const index = sourceWords.findIndex((word) => begin + word.begin <= caret && caret <= begin + word.end);
      if (index >= 0) return findWord(mirror, String(key), index);
    }
    return null;
  };

  source.addEventListener("pointermove", (/** @type {PointerEvent} */ event) =>
    highlight(mirror, wordUnderPointer(event)),
  );
  source.addEventListener("pointerleave", clear);
  source.addEventListener("blur", clear);
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === source) highlight(mirror, wordAtCaret());
  });
  for (const type of ["pointerover", "focusin"]) {
    result.addEventListener(type, (/** @type {any} */ event) => highlight(result, event.target.closest(".word")));
  }
  result.addEventListener("pointerleave", clear);
  result.addEventListener("focusout", clear);
};
