/** Views in the address: a link, Back and Forward open and close them. */
import { formatLink, parseLink } from "./address.js";
import { clamp } from "./format.js";
import { activeIndex, currentModel, isComplete } from "./state.js";

/** @typedef {import("./views.js").View} View */
/** @typedef {import("./state.js").State} State */

/** Whether a view shows the model and not a sentence. @param {string} view */
export const isOfModel = (view) => view === "positions" || view === "curves";

/** Return the address of a view of the active sentence. @param {State} state @param {View} view */
export const viewLink = (state, view) =>
  formatLink({
    model: state.model,
    text: state.text,
    look: view,
    sentence: isOfModel(view) ? 0 : activeIndex(state) + 1,
  });

/**
 * Entries of the browser's history: an open view has one of its own, and Back closes it.
 * `history.back()` takes effect later. A view that is opened in the meantime waits for it: otherwise its entry would be
 * the one that is left.
 */
export const createViewHistory = () => {
  let isLeaving = false,
    /** Address of the view that was opened meanwhile. */
    waiting = "";
  return {
    /** Put an open view into the address. @param {string} link */
    enter: (link) => {
      if (isLeaving) waiting = link;
      else if (history.state?.isView) history.replaceState({ isView: true }, "", link);
      else history.pushState({ isView: true }, "", link);
    },
    /** Go back to the entry before the view, which was closed. */
    leave: () => {
      if (!isLeaving && history.state?.isView) {
        isLeaving = true;
        history.back();
      }
      waiting = "";
    },
    /** Return whether the address has just changed because of `leave`; there is nothing to open or close then. */
    hasLeft: () => {
      const hasLeft = isLeaving;
      isLeaving = false;
      if (waiting) history.pushState({ isView: true }, "", waiting);
      waiting = "";
      return hasLeft;
    },
  };
};

/** Take the view out of the address. */
const leaveView = () => {
  const { model, text } = parseLink(location.hash);
  history.replaceState(null, "", text ? formatLink({ model, text }) : location.pathname);
};

/**
 * Open the view that the address names as soon as its sentence is translated; close it when the address names none.
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {{ open: (view: View) => void, close: () => void }} actions
 * @param {ReturnType<typeof createViewHistory>} entries
 */
export const mountViewAddress = (root, store, { open, close }, entries) => {
  /** The text whose view is to be opened, or null. @type {string | null} */
  let awaited = null;

  /** @param {State} state */
  const openIfReady = (state) => {
    const model = currentModel(state),
      { look, sentence } = parseLink(location.hash);
    if (awaited === null || !model) return;
    const isPossible = model.views.includes(look) && (isOfModel(look) || state.text.trim()) && state.text === awaited;
    if (isPossible && !isOfModel(look) && (state.busy || !isComplete(state))) return; // the translation is under way
    awaited = null;
    if (!isPossible || !history.state?.isView) leaveView(); // the page itself comes before the view in the history
    if (!isPossible) return;
    if (sentence && state.sentences.length)
      store.set({ active: state.sentences[clamp(sentence, 1, state.sentences.length) - 1].key });
    open(/** @type {View} */ (look));
  };
  const follow = () => {
    awaited = parseLink(location.hash).look ? store.get().text : null;
    if (awaited === null) close();
    else openIfReady(store.get());
  };
  root.defaultView?.addEventListener("hashchange", () => {
    if (!entries.hasLeft()) follow();
  });
  follow();
  store.subscribe(["models", "model", "text", "sentences", "answer", "busy"], openIfReady);
};
