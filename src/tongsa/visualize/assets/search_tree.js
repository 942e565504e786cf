/** Search tree panel: the candidates that each step of the beam search kept, finished and pruned. */
import { $, hasNoModifier, make, makeSvg, oncePerFrame, onWidthChange } from "./dom.js";
import { clamp, signed } from "./format.js";
import { linkTree, pathTo, SIZES, treeLayout, visibleSteps } from "./search_tree_data.js";
import { edgePath, nodeElement, placeAt, treeMarkup } from "./search_tree_markup.js";
import { describeNode, finishedTable, ruleItems, scoreOf } from "./search_tree_text.js";
import { textRows } from "./texts.js";
import { WORDS } from "./view_words.js";

/** @typedef {import("./types.d.ts").SearchTreeResponse} Tree */
/** @typedef {import("./search_tree_data.js").TreeNode} TreeNode */
/** @typedef {import("./view_words.js").PanelOptions} PanelOptions */
/** @typedef {{nodes: Map<TreeNode, HTMLElement>, edges: Map<TreeNode, SVGElement>, parts: Element[]}} DrawnColumn */

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
 * @param {PanelOptions} options
 */
const treeView = (root, tree, { language: first = "en", saved = {}, onChange = () => {}, hasHeader, signal }) => {
  let language = first;
  const element = (id) => $(id, root),
    words = () => WORDS[language].tree;
  const { root: start, columns } = linkTree(tree.steps);
  const nodeAt = (step, rank, isPruned) =>
    columns[step]?.find((node) => node.rank === rank && (node.lane === "pruned") === isPruned);
  const finished = tree.finished.map(([step, rank]) => /** @type {TreeNode} */ (nodeAt(step, rank, false)));
  const best = finished[0],
    bestPath = new Set(pathTo(best));
  const lastKept = columns[columns.length - 1].filter(({ lane }) => lane !== "pruned");
  const survivors = new Set([...finished, ...lastKept].flatMap(pathTo)); // with all their prefixes
  const layout = treeLayout(
    columns,
    tree.steps.some((step) => step.more_pruned),
  );
  const { box } = layout;

  // ── columns: only those near the visible part have elements ──
  const svg = makeSvg("svg", { id: "edges", "aria-hidden": true, width: layout.width, height: layout.height });
  const prunedEdge = makeSvg("path", { class: "lost" });
  /** Step → its elements; −1 is the root's. @type {Map<number, DrawnColumn>} */
  const drawn = new Map();
  /** @type {WeakMap<Element, TreeNode>} */
  const nodeOf = new WeakMap();
  const classOf = (node) => {
    if (node.lane === "root") return "root best";
    if (node.lane === "pruned") return "pruned";
    return [node.lane, bestPath.has(node) && "best", !survivors.has(node) && "dead"].filter(Boolean).join(" ");
  };
  const pathOf = (node) => edgePath(box(/** @type {TreeNode} */ (node.parent)), box(node));
  const boxElement = (node) => {
    const part = nodeElement(node, box(node), classOf(node), node.lane === "finished" ? scoreOf(tree, node) : 0);
    nodeOf.set(part, node);
    return part;
  };
  const drawColumn = (step) => {
    const nodes = step < 0 ? [start] : columns[step],
      more = step < 0 ? 0 : tree.steps[step].more_pruned;
    const parts =
      step < 0
        ? []
        : [placeAt(make("div", { class: "number", text: step + 1 }), { ...layout.columns[step + 1], top: 8 })];
    const boxes = new Map(nodes.map((node) => [node, boxElement(node)])),
      edges = new Map();
    for (const node of nodes) {
      if (node.lane !== "root" && node.lane !== "pruned")
        edges.set(node, makeSvg("path", { d: pathOf(node), class: classOf(node) }));
    }
    if (more) {
      const top = layout.prunedTop + tree.steps[step].pruned.length * SIZES.pruned;
      parts.push(
        placeAt(make("div", { class: "more", text: words().more(more), title: words().moreTitle(more) }), {
          ...layout.columns[step + 1],
          top,
        }),
      );
    }
    element("sheet").append(...parts, ...boxes.values());
    svg.prepend(...edges.values());
    drawn.set(step, { nodes: boxes, edges, parts: [...parts, ...boxes.values(), ...edges.values()] });
  };
  const drawVisible = () => {
    const { scrollLeft, clientWidth } = element("stage"),
      [from, to] = visibleSteps(layout.columns, scrollLeft, clientWidth || innerWidth);
    for (const [step, { parts }] of drawn) {
      if (step >= 0 && (step < from || step >= to)) {
        for (const part of parts) part.remove();
        drawn.delete(step);
      }
    }
    if (!drawn.has(-1)) drawColumn(-1);
    for (let step = from; step < to; step++) if (!drawn.has(step)) drawColumn(step);
    highlight();
  };
  const drawSheet = () => {
    const lane = (id, top) => {
      const line = make("div", { class: "lane-line" }),
        label = make("div", { class: "lane-label", id });
      line.style.top = label.style.top = `${top}px`;
      return [line, label];
    };
    const lanes = [
      ...lane("finished-lane", layout.finishedTop - SIZES.laneLabel),
      ...(layout.hasPruned ? lane("pruned-lane", layout.prunedTop - SIZES.laneLabel) : []),
    ];
    svg.append(prunedEdge);
    Object.assign(element("sheet").style, { width: `${layout.width}px`, height: `${layout.height}px` });
    element("sheet").replaceChildren(svg, ...lanes);
    element("stage").scrollLeft = 0;
  };

  // ── selection ──
  let selected = best;
  /** @type {TreeNode | null} */
  let hovered = null;
  const highlight = () => {
    const node = hovered || selected,
      path = new Set(pathTo(node));
    for (const { nodes, edges } of drawn.values()) {
      for (const [other, part] of [...nodes, ...edges]) part.classList.toggle("on", path.has(other));
      for (const [other, part] of nodes) part.classList.toggle("here", other === node);
    }
    svg.classList.toggle("dimmed", node !== best);
    prunedEdge.setAttribute("d", node.lane === "pruned" ? pathOf(node) : "");
    prunedEdge.classList.toggle("on", node.lane === "pruned");
    element("readout").replaceChildren(...describeNode(words(), tree, node, columns[node.step] ?? [], finished));
  };
  const select = (node) => {
    selected = node;
    hovered = null;
    highlight();
    onChange({ step: node.step + 1, status: node.lane === "pruned" ? "pruned" : "kept", rank: node.rank + 1 });
  };
  const scrollTo = (node) => {
    const stage = element("stage"),
      { left, width } = box(node),
      margin = Math.min(80, stage.clientWidth / 4);
    if (left - margin < stage.scrollLeft) stage.scrollLeft = left - margin;
    else if (left + width + margin > stage.scrollLeft + stage.clientWidth)
      stage.scrollLeft = left + width + margin - stage.clientWidth;
    drawVisible();
  };
  const sibling = (node, offset) =>
    (columns[node.step] ?? [start])[(columns[node.step] ?? [start]).indexOf(node) + offset];
  /** Key → the next node. @type {Record<string, (node: TreeNode) => TreeNode | null | undefined>} */
  const MOVES = {
    ArrowLeft: (node) => node.parent,
    ArrowRight: ({ children }) =>
      children.find((child) => bestPath.has(child)) ?? children.find((child) => survivors.has(child)) ?? children[0],
    ArrowUp: (node) => sibling(node, -1),
    ArrowDown: (node) => sibling(node, 1),
    Home: () => start,
    End: () => best,
  };
  const moveByKey = (event) => {
    if (!hasNoModifier(event) || !MOVES[event.key]) return;
    event.preventDefault();
    const next = MOVES[event.key](selected);
    if (!next) return;
    select(next);
    scrollTo(next);
  };
  const hover = (node) => {
    if (node === hovered) return;
    hovered = node;
    highlight();
  };
  const nodeUnder = (event) => nodeOf.get(event.target.closest?.(".node")) ?? null;

  // ── texts ──
  const showTexts = () => {
    const page = WORDS[language].page,
      notes = [tree.truncated && words().truncated, tree.beam_groups > 1 && words().beamGroups(tree.beam_groups)];
    const texts = {
      text: tree.text,
      translation: tree.translation || words().empty,
      is_label: false,
      reference: "",
      score: null,
    };
    element("texts").replaceChildren(...(hasHeader ? [] : textRows(texts, page)));
    element("note").textContent = notes.filter(Boolean).join(" ");
    element("rules").replaceChildren(...ruleItems(words(), tree));
    element("tree-title").textContent = words().title;
    element("marks").replaceChildren(
      ...Object.entries(words().marks).map(([style, text]) =>
        make(
          "li",
          {},
          make("i", { class: style, "aria-hidden": "true", text: style === "pruned" ? "−0.42" : "" }),
          text,
        ),
      ),
    );
    element("hint").textContent = words().hint;
    element("stage").setAttribute("aria-label", words().stage);
    element("finished-lane").textContent = words().finishedLane;
    if (layout.hasPruned) element("pruned-lane").textContent = words().prunedLane;
    element("stop-title").textContent = words().stopTitle;
    const bound = tree.score_bound === null ? "" : signed(tree.score_bound);
    /** @type {(tree: Tree, best: string, bound: string) => string} */
    const stopReason = words().stopReason[tree.stop_reason];
    element("stop").textContent = stopReason(tree, signed(scoreOf(tree, best)), bound);
    element("finished-title").textContent = words().finishedTitle;
    element("finished").replaceChildren(
      ...finishedTable(words(), tree, finished, (node) => {
        select(node);
        scrollTo(node);
      }),
    );
  };

  element("stage").addEventListener("keydown", moveByKey, { signal });
  element("stage").addEventListener("scroll", oncePerFrame(drawVisible), { passive: true, signal });
  element("sheet").addEventListener(
    "pointerover",
    (event) => hover(event.pointerType === "touch" ? null : nodeUnder(event)),
    { signal },
  );
  element("sheet").addEventListener("pointerleave", () => hover(null), { signal });
  element("sheet").addEventListener(
    "click",
    (event) => {
      if (nodeUnder(event)) select(nodeUnder(event));
    },
    { signal },
  );
  drawSheet();
  showTexts();
  selected = nodeAt(Number(saved.step) - 1, Number(saved.rank) - 1, saved.status === "pruned") ?? best;
  drawVisible();
  if (selected !== best) scrollTo(selected);
  onWidthChange(element("stage"), drawVisible, signal);
  return {
    setLanguage: (next) => {
      language = next;
      showTexts();
      highlight();
    },
  };
};
