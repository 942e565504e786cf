/** The sheet of the search tree: boxes and edges, of the columns near the visible part only. */
import { $, make, makeSvg } from "./dom.js";
import { nodeClass, pathTo, SIZES, visibleSteps } from "./search_tree_data.js";
import { edgePath, nodeElement, placeAt } from "./search_tree_markup.js";
import { scoreOf } from "./search_tree_text.js";

/** @typedef {import("./search_tree_data.js").TreeNode} TreeNode */
/** @typedef {import("./search_tree_data.js").TreeModel} TreeModel */
/** @typedef {{nodes: Map<TreeNode, HTMLElement>, edges: Map<TreeNode, SVGElement>, parts: Element[]}} DrawnColumn */

/** Line and label of a lane. @param {string} id @param {number} top */
const lane = (id, top) => {
  const line = make("div", { class: "lane-line" }),
    label = make("div", { class: "lane-label", id });
  line.style.top = label.style.top = `${top}px`;
  return [line, label];
};

/**
 * Path of the edge from a node's parent.
 * @param {TreeModel} model
 * @param {TreeNode} node
 */
const pathOf = ({ layout: { box } }, node) => edgePath(box(/** @type {TreeNode} */ (node.parent)), box(node));

/**
 * Number of a step, and how many of its pruned candidates are not listed.
 * @param {TreeModel} model
 * @param {number} step
 * @param {any} words
 */
const columnLabels = ({ tree, layout }, step, words) => {
  const { more_pruned: more, pruned } = tree.steps[step],
    place = layout.columns[step + 1];
  const labels = [placeAt(make("div", { class: "number", text: step + 1 }), { ...place, top: 8 })];
  if (more) {
    const label = make("div", { class: "more", text: words.more(more), title: words.moreTitle(more) });
    labels.push(placeAt(label, { ...place, top: layout.prunedTop + pruned.length * SIZES.pruned }));
  }
  return labels;
};

/**
 * @param {ShadowRoot | HTMLElement} root
 * @param {TreeModel} model
 * @param {() => any} words
 */
export const treeColumns = (root, model, words) => {
  const { tree, start, columns, best, layout } = model,
    sheet = $("sheet", root);
  const svg = makeSvg("svg", { id: "edges", "aria-hidden": true, width: layout.width, height: layout.height });
  const prunedEdge = makeSvg("path", { class: "lost" });
  /** Step → its elements; −1 is the root's. @type {Map<number, DrawnColumn>} */
  const drawn = new Map();
  /** @type {WeakMap<Element, TreeNode>} */
  const nodeOf = new WeakMap();

  /** @param {TreeNode} node @returns {[TreeNode, HTMLElement]} */
  const boxElement = (node) => {
    const score = node.lane === "finished" ? scoreOf(tree, node) : 0,
      part = nodeElement(node, layout.box(node), nodeClass(model, node), score);
    nodeOf.set(part, node);
    return [node, part];
  };
  /** @param {number} step */
  const drawColumn = (step) => {
    const column = step < 0 ? [start] : columns[step],
      labels = step < 0 ? [] : columnLabels(model, step, words());
    const nodes = new Map(column.map(boxElement));
    const edges = new Map(
      column
        .filter(({ lane: name }) => name !== "root" && name !== "pruned")
        .map((node) => [node, makeSvg("path", { d: pathOf(model, node), class: nodeClass(model, node) })]),
    );
    sheet.append(...labels, ...nodes.values());
    svg.prepend(...edges.values());
    drawn.set(step, { nodes, edges, parts: [...labels, ...nodes.values(), ...edges.values()] });
  };
  /** Draw the columns within a screen of the visible part, and remove the others. */
  const drawVisible = () => {
    const { scrollLeft, clientWidth } = $("stage", root),
      [from, to] = visibleSteps(layout.columns, scrollLeft, clientWidth || innerWidth);
    for (const [step, { parts }] of drawn) {
      if (step >= 0 && (step < from || step >= to)) {
        for (const part of parts) part.remove();
        drawn.delete(step);
      }
    }
    if (!drawn.has(-1)) drawColumn(-1);
    for (let step = from; step < to; step++) if (!drawn.has(step)) drawColumn(step);
  };
  /** Highlight a node and its prefix. @param {TreeNode} node */
  const highlight = (node) => {
    const path = new Set(pathTo(node));
    for (const { nodes, edges } of drawn.values()) {
      for (const [other, part] of [...nodes, ...edges]) part.classList.toggle("on", path.has(other));
      for (const [other, part] of nodes) part.classList.toggle("here", other === node);
    }
    svg.classList.toggle("dimmed", node !== best);
    prunedEdge.setAttribute("d", node.lane === "pruned" ? pathOf(model, node) : "");
    prunedEdge.classList.toggle("on", node.lane === "pruned");
  };

  const lanes = [
    ...lane("finished-lane", layout.finishedTop - SIZES.laneLabel),
    ...(layout.hasPruned ? lane("pruned-lane", layout.prunedTop - SIZES.laneLabel) : []),
  ];
  svg.append(prunedEdge);
  Object.assign(sheet.style, { width: `${layout.width}px`, height: `${layout.height}px` });
  sheet.replaceChildren(svg, ...lanes);
  $("stage", root).scrollLeft = 0;
  return {
    drawVisible,
    highlight,
    /** The node under the pointer. @param {any} event @returns {TreeNode | null} */
    nodeUnder: (event) => nodeOf.get(event.target.closest?.(".node")) ?? null,
  };
};
