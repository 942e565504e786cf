/** The source pane: the text area, the mirror behind it that shows the words, the count, Clear and its undo. */
import { countCharacters } from "./characters.js";
import { $, make } from "./dom.js";
import { createKeyedList } from "./keyed.js";
import { revealInPane, syncScroll } from "./panes.js";
import { activeIndex, wordsOf } from "./state.js";

/** @typedef {import("./segments.js").Sentence} Sentence */

/** Fill the element of a sentence with a span for each word. @param {HTMLElement} element @param {Sentence} sentence */
const fillWords = (element, sentence) => {
  let offset = 0;
  element.className = "source-sentence";
  sentence.sourceWords.forEach((word, index) => {
    if (word.begin < offset) return;
    element.append(
      sentence.source.slice(offset, word.begin),
      make("span", {
        class: "source-word",
        "data-word": index,
        text: sentence.source.slice(word.begin, word.end),
      }),
    );
    offset = word.end;
  });
  element.append(sentence.source.slice(offset));
};

/** Return the items of the mirror and the text after them. @param {string} text @param {Sentence[]} sentences */
export const mirrorItems = (text, sentences) => {
  let offset = 0;
  const items = sentences
    .filter((sentence) => sentence.isUnchanged && !sentence.isPending)
    .map((sentence) => {
      const item = { key: sentence.key, gap: text.slice(offset, sentence.begin), value: sentence };
      offset = sentence.end;
      return item;
    });
  return { items, tail: text.slice(offset) };
};

/**
 * Return the rectangle of a position in a text that an element shows.
 * @param {HTMLElement} element
 * @param {number} offset
 */
const caretRectangle = (element, offset) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let rest = offset;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { length } = /** @type {Text} */ (node);
    if (rest <= length) {
      const range = document.createRange();
      range.setStart(node, Math.min(rest, length));
      range.setEnd(node, Math.min(rest + 1, length));
      return range.getBoundingClientRect();
    }
    rest -= length;
  }
  return null;
};

/**
 * Replace the value of a text area so that Ctrl+Z brings the earlier one back.
 * @param {HTMLTextAreaElement} area
 * @param {string} text
 */
const replaceValue = (area, text) => {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  area.focus({ preventScroll: true });
  area.select();
  const isDone = area.value !== text && document.execCommand(text ? "insertText" : "delete", false, text);
  if (!isDone || area.value !== text) area.value = text;
  if (focused && focused !== area && focused !== document.body) focused.focus({ preventScroll: true });
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 */
export const mountSource = (root, store, session) => {
  /** @type {HTMLTextAreaElement} */
  const source = $("source", root);
  const mirror = $("mirror", root),
    pane = $("writing", root);
  const show = createKeyedList(mirror, { fill: fillWords, isSame: (a, b) => a.sourceWords === b.sourceWords });
  let cleared = "";

  const revealCaret = () => {
    const caret = caretRectangle(mirror, source.selectionEnd),
      outer = pane.getBoundingClientRect();
    if (!caret || pane.scrollHeight <= pane.clientHeight) return;
    if (caret.bottom > outer.bottom - 8) pane.scrollTop += caret.bottom - outer.bottom + 24;
    else if (caret.top < outer.top + 8) pane.scrollTop += caret.top - outer.top - 24;
  };
  store.subscribe(["text", "sentences"], ({ text, sentences }) => {
    if (source.value !== text) replaceValue(source, text);
    const { items, tail } = mirrorItems(text, sentences);
    show(items, `${tail}\u200b`); // an empty last line has no height without a character in it
  });
  store.subscribe(["text", "limits", "language"], (state) => {
    const words = wordsOf(state),
      limit = state.limits.characters,
      count = countCharacters(state.text);
    $("count", root).textContent = words.characters(count, limit);
    $("count", root).classList.toggle("over-limit", Boolean(limit) && count > limit);
    if (state.text) cleared = "";
    $("clear", root).hidden = !state.text && !cleared;
    $("clear", root).textContent = state.text ? words.clear : words.undo;
  });
  store.subscribe(["active", "sentences"], (state) => {
    const active = state.sentences.length > 1 ? state.sentences[activeIndex(state)].key : null;
    for (const element of mirror.children) element.classList.toggle("active", element.dataset.key === String(active));
  });
  store.subscribe(["active"], ({ active }) => {
    if (document.activeElement !== source) revealInPane(pane, mirror.querySelector(`[data-key="${active}"]`));
  });

  syncScroll(pane, $("result", root));
  source.addEventListener("input", (/** @type {any} */ event) => {
    if (source.value === store.get().text) return; // the page itself wrote it
    session.type(source.value, event.inputType?.startsWith("insertFromPaste") ? null : event.data);
    revealCaret();
  });
  document.addEventListener("selectionchange", () => {
    if (document.activeElement !== source) return;
    const caret = source.selectionStart,
      { sentences } = store.get();
    const sentence = sentences.find(({ begin, end, isPending }) => !isPending && begin <= caret && caret <= end);
    if (sentence) store.set({ active: sentence.key });
  });
  $("clear", root).addEventListener("click", () => {
    const { text } = store.get(),
      restored = cleared;
    if (text) cleared = text;
    session.replaceText(text ? "" : restored);
    source.focus();
  });
};
