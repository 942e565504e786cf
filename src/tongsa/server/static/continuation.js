/** A language model continues the text: by sampling with temperature and top-p, beside its likeliest next tokens. */
import { postJSON, RequestError } from "./api.js";
import { $, make } from "./dom.js";
import { percent, tokenText } from "./format.js";
import { errorNotice } from "./notice.js";
import { taskOf } from "./state.js";

/** Milliseconds without typing before the next tokens are asked for. */
const PAUSE = 400;
const MAX_TOKENS = 40;

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 */
export const mountContinuation = (root, store, session) => {
  let timer = 0,
    seed = 1;
  /** @type {AbortController | null} */
  let controller = null;

  /** @param {{ token: string, probability: number }[]} tokens */
  const showNext = (tokens) =>
    $("next-tokens", root).replaceChildren(
      ...tokens.map(({ token, probability }) => {
        const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span"));
        /** @type {HTMLElement} */ (bar.firstChild).style.width = percent(probability);
        return make(
          "li",
          {},
          make("span", { text: tokenText(token).trim() || token }),
          bar,
          make("span", { text: percent(probability) }),
        );
      }),
    );
  /** @param {number} maxTokens 0 asks for the next tokens only */
  const ask = async (maxTokens) => {
    const { model, text } = store.get();
    controller?.abort();
    controller = new AbortController();
    const { signal } = controller;
    const body = {
      model,
      text,
      max_tokens: maxTokens,
      temperature: Number($("temperature", root).value),
      top_p: Number($("top-p", root).value),
      seed,
    };
    try {
      const response = await postJSON("/v1/continue", body, signal);
      showNext(response.next_tokens);
      if (maxTokens) {
        seed += 1;
        session.replaceText(response.text);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RequestError)) throw error;
      store.set({ notice: errorNotice(error) });
    }
  };
  store.subscribe(["text", "model", "models"], (state) => {
    clearTimeout(timer);
    if (taskOf(state) === "language_model") timer = setTimeout(() => ask(0), PAUSE);
  });
  $("continue-button", root).addEventListener("click", () => ask(MAX_TOKENS));
  for (const id of ["temperature", "top-p"]) {
    const show = () => {
      $(`${id}-value`, root).textContent = Number($(id, root).value).toFixed(2);
    };
    $(id, root).addEventListener("input", show);
    show();
  }
};
