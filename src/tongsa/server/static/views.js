/** Views of a model and of a translation in a dialog, drawn by the same modules as the offline page. */
import { postJSON, RequestError } from "./api.js";
import { countCharacters } from "./characters.js";
import { $, make } from "./dom.js";
import { describeCode } from "./notice.js";
import { activeIndex, wordsOf } from "./state.js";
import { createViewHistory, isOfModel, mountViewAddress, viewLink } from "./view_address.js";

/** @typedef {"attention" | "tree" | "trace" | "positions" | "curves"} View */
/**
 * @typedef {object} ViewModule
 * @property {() => Promise<any>} module
 * @property {string} style
 * @property {"attentionTitle" | "treeTitle" | "traceTitle" | "positionsTitle" | "curvesTitle"} title
 */

/** @type {Record<View, ViewModule>} */
const VIEWS = {
  attention: { module: () => import("./attention.js"), style: "attention.css", title: "attentionTitle" },
  tree: { module: () => import("./search_tree.js"), style: "search_tree.css", title: "treeTitle" },
  trace: { module: () => import("./trace.js"), style: "trace.css", title: "traceTitle" },
  positions: { module: () => import("./positions.js"), style: "plots.css", title: "positionsTitle" },
  curves: { module: () => import("./curves.js"), style: "plots.css", title: "curvesTitle" },
};

/**
 * Return the body of the request for a view of the active sentence.
 * @param {import("./state.js").State} state
 * @param {View} view
 */
export const viewRequest = (state, view) => {
  const sentence = state.sentences[activeIndex(state)],
    { model } = state;
  if (isOfModel(view)) return { model };
  if (!sentence) return { model, text: state.text };
  const text = [state.style, sentence.source].filter(Boolean).join(" ");
  return view === "attention" ? { model, text, target: sentence.text } : { model, text };
};

/** Add a stylesheet to a shadow root and wait until it is loaded. @param {ShadowRoot} root @param {string} name */
const loadStyle = (root, name) =>
  new Promise((resolve, reject) => {
    const link = make("link", { rel: "stylesheet", href: new URL(`./${name}`, import.meta.url).href });
    link.addEventListener("load", resolve);
    link.addEventListener("error", reject);
    root.append(link);
  });

/** @param {Document} root @param {import("./state.js").PageStore} store */
export const mountViews = (root, store) => {
  const dialog = $("view", root),
    entries = createViewHistory();
  /** @type {AbortController | null} */
  let controller = null;
  /** @type {ViewModule["title"] | ""} */
  let title = "";

  const close = () => {
    if (dialog.open) return; // the event comes a moment after the dialog closed: another view may be open by then
    controller?.abort(); // ends all listeners of the view
    controller = null;
    entries.leave();
    $("view-body", root).replaceChildren();
  };
  /** The page's own styles do not reach into a shadow root. @param {string} style */
  const createRoot = async (style) => {
    const host = make("div", { hidden: "" }),
      shadow = host.attachShadow({ mode: "open" });
    $("view-body", root).replaceChildren(host);
    await Promise.all(["page.css", style].map((name) => loadStyle(shadow, name)));
    return /** @type {const} */ ([host, shadow]);
  };
  /** Explain why a sentence cannot be shown. @param {View} view */
  const explainLength = (view) => {
    const state = store.get(),
      index = activeIndex(state),
      limit = state.limits.sentence_characters ?? Infinity;
    const count = countCharacters(state.sentences[index]?.source ?? state.text);
    if (count <= limit || isOfModel(view)) return false;
    store.set({ notice: { kind: "info", code: "too_long_to_view", values: [index + 1, count, limit] } });
    return true;
  };
  /** @param {View} view */
  const open = async (view) => {
    if (explainLength(view)) return;
    const { module, style } = VIEWS[view];
    title = VIEWS[view].title;
    controller?.abort();
    controller = new AbortController();
    const { signal } = controller,
      state = store.get(),
      words = wordsOf(state);
    $("view-title", root).textContent = words[title];
    $("view-notice", root).textContent = words.loading;
    $("view-body", root).replaceChildren();
    if (!dialog.open) dialog.showModal();
    entries.enter(viewLink(state, view));
    try {
      const body = viewRequest(state, view);
      const [data, { draw }] = await Promise.all([postJSON(`/v1/${view}`, body, signal), module()]);
      const [host, shadow] = await createRoot(style);
      if (signal.aborted) return;
      $("view-notice", root).textContent = "";
      host.hidden = false;
      const request = (edits) => postJSON(`/v1/${view}`, { ...body, ...edits }, signal); // what if, in a trace
      draw(shadow, data, { language: state.language, signal, request });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RequestError)) throw error;
      $("view-notice", root).textContent = describeCode(wordsOf(store.get()), error.code, error.values);
    }
  };

  dialog.addEventListener("close", close);
  for (const view of /** @type {View[]} */ (Object.keys(VIEWS)))
    $(`open-${view}`, root).addEventListener("click", () => open(view));
  store.subscribe(["language"], (state) => {
    if (title) $("view-title", root).textContent = wordsOf(state)[title];
  });
  mountViewAddress(root, store, { open, close: () => dialog.close() }, entries);
};
