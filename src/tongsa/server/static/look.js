/** Looking into a model and what it made of a text, drawn by the very modules of `tongsa view`. */
import { asked, Refusal } from "./server.js";
import { languageOf, onLanguage, say } from "./words.js";

const element = (id) => document.getElementById(id);
const KINDS = {
  attention: { path: "/v1/attention", module: "/static/attention.js", style: "/static/attention.css", title: "lookAttention" },
  tree: { path: "/v1/tree", module: "/static/search_tree.js", style: "/static/search_tree.css", title: "lookTree" },
  positions: { path: "/v1/positions", module: "/static/positions.js", style: "/static/plots.css", title: "lookPositions" },
  curves: { path: "/v1/curves", module: "/static/curves.js", style: "/static/plots.css", title: "lookCurves" },
};

/** A stylesheet inside a room, where nothing of the page around reaches; it is there when this is done. */
const dressed = (root, address) => new Promise((resolve, reject) => {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = address;
  link.addEventListener("load", resolve);
  link.addEventListener("error", reject);
  root.append(link);
});

/**
 * @param question what to ask for a kind of picture
 */
export const looking = (question) => {
  const dialog = element("look");
  let asking = null, shown = "";

  const close = () => { asking?.abort(); element("look-body").replaceChildren(); };
  const room = async (style) => {
    const host = document.createElement("div"), root = host.attachShadow({ mode: "open" });
    host.hidden = true;
    element("look-body").replaceChildren(host);
    await Promise.all(["/static/page.css", style].map((address) => dressed(root, address)));
    return [host, root];
  };
  const open = async (kind) => {
    const { path, module, style, title } = KINDS[kind];
    shown = title;
    asking = new AbortController();
    const { signal } = asking;
    element("look-title").textContent = say()[title];
    element("look-notice").textContent = say().loading;
    element("look-body").replaceChildren();
    dialog.showModal();
    try {
      const [data, { draw }] = await Promise.all([asked(path, question(kind), signal), import(module)]);
      const [host, root] = await room(style);
      if (signal.aborted) return;
      element("look-notice").textContent = "";
      host.hidden = false;
      draw(root, data, { language: languageOf() });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      element("look-notice").textContent = error.message;
    }
  };

  dialog.addEventListener("close", close);
  for (const kind of Object.keys(KINDS)) element(`open-${kind}`).addEventListener("click", () => open(kind));
  onLanguage(() => { if (shown) element("look-title").textContent = say()[shown]; });
};
