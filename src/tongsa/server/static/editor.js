/** Correction of the active sentence by hand; the server stores it as a pair if its owner collects corrections. */
import { postJSON, RequestError } from "./api.js";
import { $ } from "./dom.js";
import { errorNotice } from "./notice.js";
import { shownText } from "./segments.js";
import { activeIndex } from "./state.js";

/** @param {import("./state.js").PageStore} store @param {string} source @param {string} target */
const sendCorrection = async (store, source, target) => {
  const { acceptsCorrections, model } = store.get();
  if (!acceptsCorrections) return;
  try {
    await postJSON("/v1/corrections", { model, source, target });
    store.set({ notice: { kind: "info", code: "corrected" } });
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    store.set({ notice: errorNotice(error) });
  }
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 */
export const mountEditor = (root, store, session) => {
  const editor = $("editor", root),
    field = $("editor-text", root),
    button = $("edit", root);
  const active = () => store.get().sentences[activeIndex(store.get())];
  /** @param {import("./segments.js").Sentence} sentence */
  const shown = (sentence) => shownText(sentence, store.get().sentences.length);
  let editedKey = 0;

  /** @param {boolean} isOpen */
  const toggle = (isOpen) => {
    editor.hidden = !isOpen;
    button.hidden = isOpen;
    editedKey = isOpen ? active().key : 0;
  };
  const cancel = () => {
    toggle(false);
    button.focus();
  };
  const save = () => {
    const sentence = active(),
      text = field.value.trim();
    cancel();
    if (!sentence || !text || text === shown(sentence)) return;
    session.choose(sentence, text);
    sendCorrection(store, sentence.source, text);
  };
  store.subscribe(["sentences", "active"], () => {
    if (editedKey && active()?.key !== editedKey) toggle(false);
  });
  button.addEventListener("click", () => {
    if (!active() || active().isPending) return;
    field.value = shown(active());
    toggle(true);
    field.focus();
  });
  $("editor-save", root).addEventListener("click", save);
  $("editor-cancel", root).addEventListener("click", cancel);
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") cancel();
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save();
    }
  });
};
