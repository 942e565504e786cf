/** The notice at the edge of the page: what went wrong, the remedy, the next retry, a field for the API key. */
import { $ } from "./dom.js";
import { retryDelay } from "./pacing.js";
import { wordsOf } from "./state.js";
import { saveSetting } from "./storage.js";

/** @typedef {import("./state.js").Notice} Notice */
/** @typedef {import("./words.js").Words} Words */

/** Codes after which the text can be translated as a document. */
const TOO_LONG = new Set(["over_limit", "too_long"]);
/** Codes whose server sentence says more than the page's. */
const DETAILED = new Set(["bad_request", "internal", "other", "unsupported_format"]);

/**
 * Return the sentence of a code in the page's language.
 * @param {Words} words
 * @param {string} code
 * @param {(string | number)[]} [values]
 */
export const describeCode = (words, code, values = []) => {
  const sentences = /** @type {Record<string, (...values: any[]) => string>} */ (words.errors);
  return (sentences[code] ?? sentences.other)(...values);
};

/**
 * Return the notice of a failed request.
 * @param {import("./api.js").RequestError} error
 * @param {{ retry?: (() => void) | null, failures?: number, isFinal?: boolean, kind?: Notice["kind"] }} [options]
 * @returns {Notice}
 */
export const errorNotice = (error, { retry = null, failures = 1, isFinal = false, kind = "error" } = {}) => {
  const isTemporary = error.retryAfter !== null;
  const seconds = isTemporary && !isFinal ? retryDelay(failures, error.retryAfter ?? 0) : null;
  return {
    kind,
    code: error.code,
    values: error.values,
    detail: error.detail,
    retry: isTemporary || error.needsKey ? retry : null,
    retryAt: seconds === null || !retry ? null : performance.now() + 1000 * seconds,
  };
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {{ openAsDocument: () => void }} actions
 */
export const mountNotice = (root, store, { openAsDocument }) => {
  let timer = 0;
  const text = $("notice-text", root),
    countdown = $("notice-countdown", root);

  const retryNow = () => {
    const { notice } = store.get();
    clearInterval(timer);
    if (!notice?.retry) return;
    store.set({ notice: { ...notice, retryAt: null } }); // it stays until the retry has succeeded: nothing jumps
    notice.retry();
  };
  const tick = () => {
    const { notice } = store.get(),
      left = Math.ceil(((notice?.retryAt ?? 0) - performance.now()) / 1000);
    if (!notice?.retryAt) return;
    if (left <= 0) retryNow();
    else countdown.textContent = notice.kind === "waiting" ? "" : wordsOf(store.get()).retryIn(left);
  };
  store.subscribe(["notice", "language"], (state) => {
    const { notice } = state;
    clearInterval(timer);
    $("notice", root).hidden = !notice;
    countdown.textContent = "";
    if (!notice) {
      text.textContent = "";
      return;
    }
    const sentence = describeCode(wordsOf(state), notice.code, notice.values);
    if (text.textContent !== sentence) text.textContent = sentence; // equal text is not announced again
    $("notice-detail", root).textContent = DETAILED.has(notice.code) ? (notice.detail ?? "") : "";
    $("notice", root).className = notice.kind;
    const needsKey = ["no_key", "wrong_key"].includes(notice.code);
    $("key-field", root).hidden = !needsKey;
    $("retry", root).hidden = !notice.retry || needsKey || notice.kind === "waiting";
    $("notice-action", root).hidden = !TOO_LONG.has(notice.code) || state.mode !== "text";
    $("notice-close", root).hidden = Boolean(notice.retry);
    if (notice.retryAt) timer = setInterval(tick, 250);
    tick();
  });

  const useKey = () => {
    saveSetting("key", $("key", root).value.trim());
    retryNow();
  };
  $("retry", root).addEventListener("click", retryNow);
  $("notice-close", root).addEventListener("click", () => store.set({ notice: null }));
  $("notice-action", root).addEventListener("click", openAsDocument);
  $("key", root).addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") useKey();
  });
  $("key-use", root).addEventListener("click", useKey);
};
