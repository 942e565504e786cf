/** Search tree panel: the candidates that each step of the beam search kept, finished and pruned. */
import { $, ARROWS, hasNoModifier, oncePerFrame, onWidthChange } from "./dom.js";
import { clamp } from "./format.js";
import { treeColumns } from "./search_tree_columns.js";
import { nodeByKey, scrollToBox, treeModel } from "./search_tree_data.js";
import { treeMarkup } from "./search_tree_markup.js";
import { treeMinimap } from "./search_tree_minimap.js";
import { describeNode, showTreeTexts } from "./search_tree_text.js";
import { WORDS } from "./view_words.js";

/** @typedef {import("./types.d.ts").SearchTreeResponse} Tree */
/** @typedef {import("./search_tree_data.js").TreeNode} TreeNode */
/** @typedef {import("./view_words.js").PanelOptions} PanelOptions */

/**
 * Draw into `root` (an element or a shadow root) the data of tongsa.visualize.search_tree.page_data, or several trees.
 * @param {ShadowRoot | HTMLElement} root
 * @param {Tree | {trees: Tree[]}} data
 * @param {PanelOptions} [options]
 * @returns {import("./view_words.js").Panel}
 */
export const draw = (root, data, options = {}) => {
  root.append(...treeMarkup());
  const trees = "trees" in data ? data.trees : [data];
  let { language = "en", sentence = 0 } = options;
  /** Removes the listeners of the tree that is shown. */
  let shown = new AbortController();
  options.signal?.addEventListener("abort", () => shown.abort(), { once: true });
  /** @type {ReturnType<typeof treeView>} */
  let view;
  const show = (/** @type {Record<string, string>} */ saved) => {
    shown.abort();
    shown = new AbortController();
    const tree = trees[clamp(sentence, 0, trees.length - 1)];
    view = treeView(root, tree, { ...options, language, saved, signal: shown.signal });
  };
  show(options.saved ?? {});
  return {
    setLanguage: (next) => {
      language = next;
      view.setLanguage(next);
    },
    setSentence: (index) => {
      sentence = index;
      show({});
    },
  };
};

/**
 * Show one tree; the elements of the panel are there already.
 * @param {ShadowRoot | HTMLElement} root
 * @param {Tree} tree
 * @param {PanelOptions & {signal: AbortSignal}} options
 */
const treeView = (root, tree, { language: first = "en", saved = {}, onChange = () => {}, hasHeader, signal }) => {
  let language = first;
  const words = () => WORDS[language].tree,
    model = treeModel(tree),
    { columns, finished, best } = model,
    stage = $("stage", root),
    sheet = treeColumns(root, model, words),
    minimap = treeMinimap(root, model, words, signal);
  let selected = model.nodeAt(Number(saved.step) - 1, Number(saved.rank) - 1, saved.status === "pruned") ?? best;
  /** @type {TreeNode | null} */
  let hovered = null;

  const highlight = () => {
    const node = hovered || selected;
    sheet.highlight(node);
    $("readout", root).replaceChildren(...describeNode(words(), tree, node, columns[node.step] ?? [], finished));
  };
  const draw = () => {
    sheet.drawVisible();
    minimap.show();
    highlight();
  };
  const select = (/** @type {TreeNode} */ node) => {
    selected = node;
    hovered = null;
    highlight();
    onChange({ step: node.step + 1, status: node.lane === "pruned" ? "pruned" : "kept", rank: node.rank + 1 });
  };
  const scrollTo = (/** @type {TreeNode} */ node) => {
    stage.scrollLeft = scrollToBox(model.layout.box(node), stage);
    draw();
  };
  const selectAndShow = (/** @type {TreeNode} */ node) => {
    select(node);
    scrollTo(node);
  };
  listen(root, { model, sheet, selected: () => selected, select, selectAndShow, draw }, (node) => {
    if (node === hovered) return;
    hovered = node;
    highlight();
  }, signal);
  const showTexts = () => showTreeTexts(root, model, { language, hasHeader, onSelect: selectAndShow });
  showTexts();
  draw();
  if (selected !== best) scrollTo(selected);
  onWidthChange(stage, draw, signal);
  return {
    setLanguage: (/** @type {"en" | "ko"} */ next) => {
      language = next;
      showTexts();
      minimap.show();
      highlight();
    },
  };
};

/**
 * Listen to keys, scrolling and the pointer.
 * @param {ShadowRoot | HTMLElement} root
 * @param {{model: import("./search_tree_data.js").TreeModel, sheet: ReturnType<typeof treeColumns>,
 *   selected: () => TreeNode, select: (node: TreeNode) => void, selectAndShow: (node: TreeNode) => void,
 *   draw: () => void}} view
 * @param {(node: TreeNode | null) => void} hover
 * @param {AbortSignal} signal
 */
const listen = (root, { model, sheet, selected, select, selectAndShow, draw }, hover, signal) => {
  const stage = $("stage", root),
    area = $("sheet", root);
  stage.addEventListener(
    "keydown",
    (/** @type {KeyboardEvent} */ event) => {
      if (!hasNoModifier(event)) return;
      const next = nodeByKey(model, selected(), event.key);
      if (next !== undefined || ARROWS[event.key]) event.preventDefault();
      if (next) selectAndShow(next);
    },
    { signal },
  );
  stage.addEventListener("scroll", oncePerFrame(draw), { passive: true, signal });
  const pointed = (/** @type {PointerEvent} */ event) =>
    hover(event.pointerType === "touch" ? null : sheet.nodeUnder(event));
  area.addEventListener("pointerover", pointed, { signal });
  area.addEventListener("pointerleave", () => hover(null), { signal });
  area.addEventListener(
    "click",
    (/** @type {MouseEvent} */ event) => {
      const node = sheet.nodeUnder(event);
      if (node) select(node);
    },
    { signal },
  );
};
