/** The result pane: a translation as text whose words can be explored, labels with bars, or scored tokens. */
import { $, make } from "./dom.js";
import { percent } from "./format.js";
import { createKeyedList } from "./keyed.js";
import { revealInPane } from "./panes.js";
import { addedStop, gapBefore } from "./segments.js";
import { activeIndex, hasResult, isComplete, isStale, taskOf, wordsOf } from "./state.js";
import { joinByteTokens } from "./tokens.js";
import { needsReview, sentenceNotes } from "./words.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./words.js").Words} Words */
/** @typedef {{ sentence: import("./segments.js").Sentence, stop: string, words: Words }} Shown */

/** Probability below which a word is marked as uncertain, and the class of the mark. @type {[number, string][]} */
const UNCERTAIN = [
  [0.3, "uncertain-3"],
  [0.5, "uncertain-2"],
  [0.7, "uncertain-1"],
];
/** Task → text of an empty result. */
const HINTS = /** @type {const} */ ({ seq2seq: "empty", classification: "emptyLabel", language_model: "emptyScore" });

/** @param {number | null | undefined} probability */
export const uncertainClass = (probability) =>
  typeof probability === "number" ? (UNCERTAIN.find(([limit]) => probability < limit) ?? ["", ""])[1] : "";

/** @param {HTMLElement} element @param {Shown} shown */
const fillSentence = (element, { sentence, stop, words }) => {
  const isChosen = Boolean(sentence.original && sentence.original !== sentence.text);
  let offset = 0;
  element.className = "sentence";
  sentence.targetWords.forEach(({ begin, end, probability }, index) => {
    const word = make("span", {
      class: `word ${isChosen ? "" : uncertainClass(probability)}`,
      "data-word": index,
      text: sentence.text.slice(begin, end),
    });
    if (typeof probability === "number") word.title = words.wordProbability(percent(probability));
    element.append(sentence.text.slice(offset, begin), word);
    offset = end;
  });
  element.append(sentence.text.slice(offset));
  if (stop) element.append(make("span", { text: stop, title: words.addedStop }));
};

/** @param {any} response of /v1/classify */
const labelList = ({ probabilities }) => {
  const sorted = Object.entries(probabilities).sort((first, second) => second[1] - first[1]);
  return make(
    "ul",
    { class: "labels" },
    ...sorted.map(([label, probability]) => {
      const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span"));
      /** @type {HTMLElement} */ (bar.firstChild).style.width = percent(probability);
      return make("li", {}, make("span", { text: label }), bar, make("span", { text: percent(probability) }));
    }),
  );
};

/** @param {any} response of /v1/score @param {Words} words */
const scoredText = ({ log_prob: logProb, tokens }, words) => {
  const text = make(
    "p",
    {},
    ...joinByteTokens(tokens.slice(0, -1)).map(({ text: token, log_prob: tokenLogProb }) =>
      make("span", {
        // the last is </s>
        class: `token ${uncertainClass(Math.exp(tokenLogProb))}`,
        text: token,
        title: words.wordProbability(percent(Math.exp(tokenLogProb))),
      }),
    ),
  );
  const facts = words.score(logProb.toFixed(2).replace("-", "−"), Math.exp(-logProb / tokens.length).toFixed(1));
  return [text, make("p", { class: "quiet small figure", text: facts })];
};

/** @param {Document} root @param {import("./state.js").PageStore} store */
export const mountResult = (root, store) => {
  const result = $("result", root),
    translation = $("translation", root),
    other = $("answer", root);
  const show = createKeyedList(translation, {
    fill: fillSentence,
    isSame: (a, b) =>
      a.sentence.targetWords === b.sentence.targetWords &&
      a.sentence.original === b.sentence.original &&
      a.stop === b.stop &&
      a.words === b.words,
  });

  /** @param {State} state */
  const renderTranslation = (state) => {
    const { text, sentences } = state,
      words = wordsOf(state);
    const items = sentences.map((sentence, i) => ({
      key: sentence.key,
      gap: gapBefore(text, sentences, i),
      value: { sentence, stop: addedStop(sentence, sentences.length), words },
    }));
    const index = activeIndex(state),
      isFocused = translation.contains(document.activeElement);
    show(items, "");
    sentences.forEach((sentence, i) => {
      const element = /** @type {HTMLElement} */ (translation.children[i]),
        notes = needsReview(sentence) ? sentenceNotes(sentence, words) : [];
      element.classList.toggle("pending", Boolean(sentence.isPending));
      element.classList.toggle("active", sentences.length > 1 && i === index);
      element.classList.toggle("warned", notes.length > 0);
      element.classList.toggle("chosen", Boolean(sentence.original && sentence.original !== sentence.text));
      if (notes.length) element.title = notes.join(" ");
      else element.removeAttribute("title");
    });
    const tabStop = translation.querySelector('.word[tabindex="0"]') ?? translation.querySelector(".word");
    tabStop?.setAttribute("tabindex", "0");
    if (isFocused && !translation.contains(document.activeElement))
      /** @type {HTMLElement | null} */ (tabStop)?.focus();
  };
  /** @param {State} state */
  const renderAnswer = (state) => {
    const words = wordsOf(state),
      task = taskOf(state);
    if (task === "seq2seq" && state.sentences.length) other.replaceChildren();
    else if (state.answer && task === "classification") other.replaceChildren(labelList(state.answer.response));
    else if (state.answer) other.replaceChildren(...scoredText(state.answer.response, words));
    else
      other.replaceChildren(make("p", { class: "quiet hint", text: state.busy ? words.working : words[HINTS[task]] }));
  };
  store.subscribe(["sentences", "active", "language"], renderTranslation);
  store.subscribe(["sentences", "answer", "busy", "language", "models", "model"], renderAnswer);
  store.subscribe(["busy", "text", "sentences", "answer", "shading", "language"], (state) => {
    const stale = isStale(state);
    result.setAttribute("aria-busy", String(state.busy));
    result.classList.toggle("stale", stale);
    result.classList.toggle("shaded", state.shading);
    $("stale", root).hidden = !stale;
    $("copy", root).disabled = !hasResult(state) || (!state.busy && !isComplete(state));
  });
  store.subscribe(["active"], ({ active }) => {
    if (!translation.contains(document.activeElement))
      revealInPane(result, translation.querySelector(`[data-key="${active}"]`));
  });
};

/**
 * Words are text, not buttons: only the one with the focus is a button with a menu.
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {(word: HTMLElement) => void} openMenu
 */
export const mountWordKeys = (root, store, openMenu) => {
  const translation = $("translation", root);
  const STEPS = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 });
  /** @param {HTMLElement} word */
  const focus = (word) => {
    for (const earlier of translation.querySelectorAll("[tabindex]")) earlier.removeAttribute("tabindex");
    word.tabIndex = 0;
    word.focus();
  };
  translation.addEventListener("focusin", (/** @type {any} */ event) => {
    const word = event.target.closest(".word");
    if (!word) return;
    word.setAttribute("role", "button");
    word.setAttribute("aria-haspopup", "menu");
    store.set({ active: Number(word.closest("[data-key]").dataset.key) });
  });
  translation.addEventListener("focusout", (/** @type {any} */ event) => {
    if (!event.target.hasAttribute("aria-expanded"))
      for (const name of ["role", "aria-haspopup"]) event.target.removeAttribute(name);
  });
  translation.addEventListener("keydown", (/** @type {any} */ event) => {
    const word = event.target.closest(".word");
    if (!word || event.ctrlKey || event.metaKey || event.altKey) return;
    const words = /** @type {HTMLElement[]} */ ([...translation.querySelectorAll(".word")]),
      step = STEPS[event.key];
    const target =
      { Home: words[0], End: words[words.length - 1] }[/** @type {string} */ (event.key)] ??
      (step ? words[words.indexOf(word) + step] : null);
    if (event.key === "Enter" || event.key === " ") openMenu(word);
    else if (target) focus(target);
    else return;
    event.preventDefault();
  });
  translation.addEventListener("click", (/** @type {any} */ event) => {
    const sentence = event.target.closest("[data-key]"),
      word = event.target.closest(".word");
    if (String(getSelection())) return;
    if (sentence) store.set({ active: Number(sentence.dataset.key) });
    if (!word) return;
    focus(word);
    openMenu(word);
  });
};
