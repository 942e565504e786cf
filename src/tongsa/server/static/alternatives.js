/** Other translations of the active sentence, and what to know about it. */
import { postJSON, RequestError } from "./api.js";
import { $, make } from "./dom.js";
import { percent } from "./format.js";
import { shownText } from "./segments.js";
import { activeIndex, requestBase, wordsOf } from "./state.js";
import { needsReview, sentenceNotes } from "./words.js";

/** Milliseconds without a change before the other translations are asked for. */
const PAUSE = 400;
/** Translations of the active sentence. */
const NBEST = 4;

/**
 * @param {import("./state.js").PageStore} store
 * @param {import("./segments.js").Sentence} sentence
 * @param {AbortSignal} signal
 */
const loadAlternatives = async (store, { source }, signal) => {
  const body = { ...requestBase(store.get()), text: source, nbest: Math.min(NBEST, store.get().limits.nbest ?? NBEST) };
  const { sentences: translated } = (await postJSON("/v1/translate", body, signal)).translations[0];
  const alternatives = translated.length > 1 ? [] : translated[0].alternatives,
    { sentences } = store.get();
  store.set({
    sentences: sentences.map((other) =>
      other.source === source && !other.isPending ? { ...other, alternatives } : other,
    ),
  });
};

/**
 * Other translations of a sentence by the text that is shown: two may differ in a stop only, which is added.
 * @param {import("./segments.js").Sentence} sentence
 * @param {number} count of all sentences
 */
export const otherTranslations = (sentence, count) => {
  const others = (sentence.alternatives ?? [])
    .map(({ text, final_punctuation: stop }) => ({ text, finalPunctuation: stop }))
    .filter(({ text }) => text !== sentence.original);
  const byText = new Map(others.map((other) => [shownText(other, count), other]));
  byText.delete(shownText(sentence, count));
  return [...byText];
};

/**
 * What to know about a sentence.
 * @param {import("./segments.js").Sentence} sentence
 * @param {import("./words.js").Words} words
 */
const sentenceFacts = (sentence, words) => {
  const isChosen = sentence.original && sentence.original !== sentence.text;
  const confidence = typeof sentence.confidence === "number" ? [words.confidence(percent(sentence.confidence))] : [];
  return [...(isChosen ? [`${words.chosenByYou}.`] : []), ...confidence, ...sentenceNotes(sentence, words)].join(" ");
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 */
export const mountAlternatives = (root, store, session) => {
  /** @type {AbortController | null} */
  let controller = null;
  let timer = 0;
  const active = () => store.get().sentences[activeIndex(store.get())];

  /** Ask for the other translations of the active sentence when nothing else is going on. */
  const load = async () => {
    const sentence = active(),
      { busy, mode } = store.get();
    if (!sentence || sentence.alternatives || sentence.isPending || busy || mode !== "text") return;
    controller = new AbortController();
    const { signal } = controller;
    try {
      await loadAlternatives(store, sentence, signal);
    } catch (error) {
      if (!signal.aborted && !(error instanceof RequestError)) throw error;
    }
  };
  /** @param {string} text @param {() => void} use @param {string} [note] */
  const listItem = (text, use, note = "") => {
    const button = make("button", { type: "button", dir: "auto", lang: $("result", root).lang, click: use }, text);
    if (note) button.append(" ", make("span", { class: "quiet small", text: note }));
    return make("li", {}, button);
  };
  store.subscribe(["sentences", "active", "busy", "language"], (state) => {
    const words = wordsOf(state),
      index = activeIndex(state),
      sentence = state.sentences[index],
      isNow = sentence && !sentence.isPending;
    const which = state.sentences.length > 1 ? words.whichSentence(index + 1, state.sentences.length) : "";
    $("alternatives", root).hidden = !sentence;
    for (const id of ["alternatives-which", "look-which"]) $(id, root).textContent = which;
    controller?.abort();
    clearTimeout(timer);
    if (!sentence || !isNow) return;
    const isChosen = sentence.original && sentence.original !== sentence.text;
    const items = otherTranslations(sentence, state.sentences.length).map(([shown, { text, finalPunctuation }]) =>
      listItem(shown, () => session.choose(sentence, text, finalPunctuation)),
    );
    if (isChosen) items.unshift(listItem(sentence.original ?? "", () => session.restore(sentence), words.original));
    $("alternatives-list", root).replaceChildren(...items);
    $("sentence-note", root).textContent = sentenceFacts(sentence, words);
    $("sentence-note", root).classList.toggle("flag", needsReview(sentence));
    timer = setTimeout(load, PAUSE);
  });
};

/**
 * The number of sentences to check, and the way to the next one.
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 */
export const mountReview = (root, store) => {
  store.subscribe(["sentences", "language"], (state) => {
    const count = state.sentences.filter(needsReview).length,
      button = $("review", root);
    button.hidden = !count;
    button.textContent = wordsOf(state).needReview(count, state.sentences.length);
    if (!state.sentences.length) $("sentence-note", root).textContent = "";
  });
  $("review", root).addEventListener("click", () => {
    const { sentences } = store.get(),
      start = activeIndex(store.get());
    const order = [...sentences.slice(start + 1), ...sentences.slice(0, start + 1)],
      next = order.find(needsReview);
    if (!next) return;
    store.set({ active: next.key });
    root.querySelector(`#translation [data-key="${next.key}"]`)?.scrollIntoView({ block: "nearest" });
  });
};
