/** What a model was trained on: languages, pairs, score; examples to try; the styles that it can write. */
import { $, make } from "./dom.js";
import { currentModel, wordsOf } from "./state.js";

/** Control tags that have a name in the page's language. */
const STYLES = /** @type {const} */ (["polite", "casual", "formal", "plain"]);

/** Return the name of a control tag such as <polite>. @param {string} tag @param {import("./words.js").Words} words */
export const styleName = (tag, words) => {
  const style = STYLES.find((name) => tag === `<${name}>`);
  return style ? words.styles[style] : tag.replace(/[<>]/gu, "");
};

/** Return the sentence about what a model was trained on, or "". @param {import("./state.js").State} state */
export const knownText = (state) => {
  const model = currentModel(state),
    words = wordsOf(state),
    { training_pairs: count = 0, training_unit: unit = "pairs", metric = "", score = 0 } = model?.summary ?? {};
  if (!model || !count) return "";
  const data = words.trainedOn[unit](count);
  return metric ? `${data} · ${words.scoreOf(words.metrics[metric] ?? metric, score.toFixed(1))}` : data;
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 */
export const mountSummary = (root, store, session) => {
  /** @param {string} text */
  const useExample = (text) => {
    session.replaceText(text);
    $("source", root).focus();
  };

  store.subscribe(["models", "model", "language"], (state) => {
    const words = wordsOf(state),
      { examples = [], control_tags: tags = [] } = currentModel(state)?.summary ?? {};
    $("known", root).textContent = knownText(state);
    $("example-list", root).replaceChildren(
      ...examples.map((text) =>
        make(
          "li",
          {},
          make("button", { type: "button", class: "chip", dir: "auto", text, click: () => useExample(text) }),
        ),
      ),
    );
    $("style", root).replaceChildren(
      ...["", ...tags].map((tag) =>
        make("option", { value: tag, text: tag ? styleName(tag, words) : words.styleDefault }),
      ),
    );
    $("style", root).value = state.style;
    $("style-field", root).hidden = !tags.length;
  });
  store.subscribe(["text", "models", "model"], (state) => {
    $("examples", root).hidden = Boolean(state.text) || !currentModel(state)?.summary?.examples.length;
  });
  $("style", root).addEventListener("change", () => {
    store.set({ style: $("style", root).value });
    session.restart();
  });
};
