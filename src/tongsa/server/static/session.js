/** Translation of the text while it is typed: one request at a time, for the changed sentences only. */
import { MAX_RETRIES, RequestError } from "./api.js";
import { createCache } from "./cache.js";
import { countCharacters } from "./characters.js";
import { createChoices } from "./choices.js";
import { errorNotice } from "./notice.js";
import { sendDelay } from "./pacing.js";
import { allPending, planUpdate } from "./segments.js";
import { currentModel, emptyResult } from "./state.js";
import { createClassify, createScore, createTranslate } from "./tasks.js";

/** @typedef {import("./state.js").PageStore} PageStore */
/** @typedef {import("./segments.js").Sentence} Sentence */
/** @typedef {ReturnType<typeof createSession>} Session */

/** Changed parts of a text whose translations are remembered. */
const MAX_CACHED = 500;

/** Whether a text is longer than the server accepts. @param {import("./state.js").State} state */
const isTooLong = ({ text, limits }) => Boolean(limits.characters) && countCharacters(text) > limits.characters;

/** @param {PageStore} store @param {ReturnType<typeof createChoices>} choices */
const createRequests = (store, choices) => {
  const tasks = {
    seq2seq: createTranslate(store, createCache(MAX_CACHED), choices.apply),
    classification: createClassify(store),
    language_model: createScore(store),
  };
  /** @type {AbortController | null} */
  let controller = null;
  let sentAt = 0,
    latency = 0,
    failures = 0;

  const abort = () => {
    controller?.abort();
    controller = null;
    store.set({ busy: false });
  };
  /** @param {unknown} error @param {() => void} retry */
  const fail = (error, retry) => {
    if (!(error instanceof RequestError)) throw error;
    failures += 1;
    const isFinal = error.isFailure && failures > MAX_RETRIES; // after that only the button retries
    store.set({ notice: errorNotice(error, { retry, failures, isFinal }) });
  };
  /** Ask for the result of the text, instead of what was asked before. @param {() => void} retry */
  const send = async (retry) => {
    const { text } = store.get(),
      model = currentModel(store.get());
    controller?.abort();
    const current = (controller = new AbortController());
    if (!model) return;
    sentAt = performance.now();
    store.set({ busy: true });
    try {
      await tasks[model.task](text, current.signal, () => {
        latency = performance.now() - sentAt;
      });
      failures = 0;
      if (current === controller) store.set({ notice: null });
    } catch (error) {
      if (!current.signal.aborted) fail(error, retry);
    } finally {
      if (current === controller) abort();
    }
  };
  return {
    send,
    abort,
    timing: () => ({ sentAt, latency, isBusy: store.get().busy }),
    resetFailures: () => {
      failures = 0;
    },
  };
};

/** @param {PageStore} store */
export const createSession = (store) => {
  const choices = createChoices(store),
    requests = createRequests(store, choices);
  let timer = 0,
    unsentSince = 0;

  const translateNow = async () => {
    clearTimeout(timer);
    unsentSince = 0;
    const { text, limits, mode, notice } = store.get();
    if (!currentModel(store.get())) return;
    if (text.trim() && !isTooLong(store.get())) {
      await requests.send(translateNow);
      return;
    }
    requests.abort();
    if (text.trim())
      store.set({
        notice: errorNotice(new RequestError("over_limit", { values: [countCharacters(text), limits.characters] })),
      });
    else store.set({ notice: mode === "text" ? null : notice, ...emptyResult() });
  };
  /** Use an edited text; its unchanged sentences keep their translations. @param {string} text */
  const setText = (text) => {
    const { before, replaced, after } = planUpdate(store.get().text, store.get().sentences, text);
    requests.resetFailures();
    store.set({ text, sentences: text.trim() ? [...before, ...replaced, ...after] : [] });
  };
  return {
    translateNow,
    choose: choices.choose,
    /** Use a text and translate it at once. @param {string} text */
    replaceText: (text) => {
      setText(text);
      return translateNow();
    },
    /** Use a text that is being typed. @param {string} text @param {string | null | undefined} typed the last input */
    type: (text, typed) => {
      setText(text);
      const now = performance.now();
      unsentSince ||= now;
      clearTimeout(timer);
      timer = setTimeout(translateNow, sendDelay({ typed, now, unsentSince, ...requests.timing() }));
    },
    /** Translate all sentences again, as other settings require. */
    restart: () => {
      const { text, sentences } = store.get();
      choices.clear();
      store.set({ sentences: allPending(text, sentences) });
      return translateNow();
    },
    /** Use another model. Its result has nothing to do with the present one. @param {string} name */
    useModel: (name) => {
      choices.clear();
      store.set({ model: name, style: "", ...emptyResult() });
    },
    /** Use the first translation of a sentence again. @param {Sentence} sentence */
    restore: (sentence) => {
      choices.forget(sentence);
      const { sentences } = store.get();
      store.set({
        sentences: sentences.map((other) =>
          other.source === sentence.source ? { ...other, isPending: true, gap: undefined } : other,
        ),
      });
      return translateNow();
    },
  };
};
