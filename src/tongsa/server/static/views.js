/** Views of a model and of a translation in a dialog, drawn by the same modules as the offline page. */
import { postJSON, RequestError } from "./api.js";
import { currentLanguage, labels, onLanguageChange } from "./labels.js";

const element = (id) => document.getElementById(id);
const VIEWS = {
  attention: { path: "/v1/attention", module: "/static/attention.js", style: "/static/attention.css", title: "attentionTitle" },
  tree: { path: "/v1/tree", module: "/static/search_tree.js", style: "/static/search_tree.css", title: "treeTitle" },
  positions: { path: "/v1/positions", module: "/static/positions.js", style: "/static/plots.css", title: "positionsTitle" },
  curves: { path: "/v1/curves", module: "/static/curves.js", style: "/static/plots.css", title: "curvesTitle" },
};

/** Add a stylesheet to a shadow root and wait until it is loaded. */
const loadStyle = (root, url) => new Promise((resolve, reject) => {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = url;
  link.addEventListener("load", resolve);
  link.addEventListener("error", reject);
  root.append(link);
});

/**
 * @param requestBody returns the body of the request for a view
 */
export const setupViews = (requestBody) => {
  const dialog = element("view");
  let controller = null, openTitle = "";

  const close = () => {
    if (dialog.open) return; // the event comes a moment after the dialog closed: another view may be open by then
    controller?.abort();
    element("view-body").replaceChildren();
  };
  /** The page's own styles do not reach into a shadow root. */
  const createRoot = async (style) => {
    const host = document.createElement("div"), root = host.attachShadow({ mode: "open" });
    host.hidden = true;
    element("view-body").replaceChildren(host);
    await Promise.all(["/static/page.css", style].map((url) => loadStyle(root, url)));
    return [host, root];
  };
  const open = async (view) => {
    const { path, module, style, title } = VIEWS[view];
    openTitle = title;
    controller?.abort();
    controller = new AbortController();
    const { signal } = controller;
    element("view-title").textContent = labels()[title];
    element("view-notice").textContent = labels().loading;
    element("view-body").replaceChildren();
    dialog.showModal();
    try {
      const [data, { draw }] = await Promise.all([postJSON(path, requestBody(view), signal), import(module)]);
      const [host, root] = await createRoot(style);
      if (signal.aborted) return;
      element("view-notice").textContent = "";
      host.hidden = false;
      draw(root, data, { language: currentLanguage() });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RequestError)) throw error;
      element("view-notice").textContent = error.message;
    }
  };

  dialog.addEventListener("close", close);
  for (const view of Object.keys(VIEWS)) element(`open-${view}`).addEventListener("click", () => open(view));
  onLanguageChange(() => { if (openTitle) element("view-title").textContent = labels()[openTitle]; });
};
