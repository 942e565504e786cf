/** The search tree as linked nodes, the text of a prefix, and positions of all boxes. Pure functions. */
import { clamp, SPACE } from "./format.js";

/** @typedef {import("./types.d.ts").SearchTreeCandidate} Candidate */
/** @typedef {"root" | "alive" | "finished" | "pruned"} Lane */
/**
 * A candidate in the tree.
 * @typedef {object} TreeNode
 * @property {Candidate} data
 * @property {number} step from 0; −1 for the root
 * @property {number} rank among the kept or the pruned candidates of the step
 * @property {Lane} lane
 * @property {number} row within the lane
 * @property {TreeNode | null} parent
 * @property {TreeNode[]} children
 */
/** @typedef {{left: number, top: number, width: number, height: number}} Box */

/** Sizes in CSS pixels. */
export const SIZES = { top: 34, row: 52, node: 42, finished: 32, pruned: 22, gap: 34, margin: 16, laneLabel: 18 };
/** Width of a box beside its token: padding, and the number of a finished or pruned candidate. */
const LANE_SPACE = { root: 0, alive: 24, finished: 84, pruned: 64 };

/**
 * Link the candidates of a tree.
 * @param {import("./types.d.ts").SearchTreeStep[]} steps
 * @returns {{root: TreeNode, columns: TreeNode[][]}} the nodes of each step: alive, finished, pruned
 */
export const linkTree = (steps) => {
  const start = /** @type {Candidate} */ ({
    token: "<s>",
    parent: null,
    token_log_prob: 0,
    log_prob: 0,
    ranking_score: 0,
  });
  /** @type {TreeNode} */
  const root = { data: start, step: -1, rank: 0, lane: "root", row: 0, parent: null, children: [] };
  /** Kept nodes of the step before, by rank. @type {TreeNode[]} */
  let before = [];
  const columns = steps.map((step, number) => {
    const rows = { root: 0, alive: 0, finished: 0, pruned: 0 };
    const node = (data, rank, /** @type {Lane} */ lane) => {
      const parent = data.parent === null ? root : before[data.parent];
      return { data, step: number, rank, lane, row: rows[lane]++, parent, children: [] };
    };
    const kept = step.kept.map((data, rank) => node(data, rank, data.is_finished ? "finished" : "alive"));
    const pruned = step.pruned.map((data, rank) => node(data, rank, "pruned"));
    for (const child of kept) child.parent.children.push(child);
    before = kept;
    return [
      ...kept.filter(({ lane }) => lane === "alive"),
      ...kept.filter(({ lane }) => lane === "finished"),
      ...pruned,
    ];
  });
  return { root, columns };
};

/** Return a node and all its ancestors, the root first. @param {TreeNode | null} node @returns {TreeNode[]} */
export const pathTo = (node) => {
  const path = [];
  for (let current = node; current; current = current.parent) path.unshift(current);
  return path;
};

const BYTE = /^<0x([0-9A-F]{2})>$/;

/**
 * Join tokens to text: "▁" starts a word, tokens such as <0xEA> are bytes of UTF-8.
 * @param {string[]} tokens
 */
export const joinTokens = (tokens) => {
  let text = "";
  /** @type {number[]} */
  let bytes = [];
  const flush = () => {
    if (bytes.length) text += new TextDecoder().decode(Uint8Array.from(bytes));
    bytes = [];
  };
  for (const token of tokens) {
    const byte = BYTE.exec(token);
    if (byte) bytes.push(parseInt(byte[1], 16));
    else {
      flush();
      text += token.replaceAll(SPACE, " ");
    }
  }
  flush();
  return text.normalize("NFC").trim();
};

/** Return the text of a prefix without </s>. @param {TreeNode} node */
export const prefixText = (node) =>
  joinTokens(
    pathTo(node)
      .filter(({ lane, data }) => lane !== "root" && !data.is_finished)
      .map(({ data }) => data.token),
  );

/** Return the width of a text in units of a Latin letter. @param {string} text */
const textUnits = (text) =>
  Array.from(text).reduce(
    (sum, character) => sum + (Number(character.codePointAt(0)) >= 0x1100 && character !== SPACE ? 2 : 1),
    0,
  );

/**
 * Return positions and sizes: a column for each step; lanes of alive, finished and pruned candidates below each other.
 * @param {TreeNode[][]} columns
 * @param {boolean} hasMore some step has pruned candidates that are not listed
 */
export const treeLayout = (columns, hasMore) => {
  const rows = (lane) => Math.max(0, ...columns.map((nodes) => nodes.filter((node) => node.lane === lane).length));
  const { top, row, node: nodeHeight, finished, pruned, gap, margin, laneLabel } = SIZES;
  const finishedTop = top + rows("alive") * row + laneLabel;
  const prunedTop = finishedTop + rows("finished") * finished + laneLabel;
  const prunedRows = rows("pruned") + (hasMore ? 1 : 0);
  /** @type {{left: number, width: number}[]} */
  const places = [{ left: margin, width: 44 }];
  for (const nodes of columns) {
    const { left, width } = places[places.length - 1];
    const needed = nodes.map(
      ({ lane, data }) => textUnits(data.token) * (lane === "pruned" ? 7.4 : 8.6) + LANE_SPACE[lane],
    );
    places.push({ left: left + width + gap, width: clamp(Math.max(0, ...needed), 80, 190) });
  }
  const last = places[places.length - 1];
  const tops = { root: top, alive: top, finished: finishedTop, pruned: prunedTop };
  const strides = { root: row, alive: row, finished, pruned };
  const heights = { root: nodeHeight, alive: nodeHeight, finished: finished - 6, pruned: pruned - 2 };
  return {
    columns: places,
    finishedTop,
    prunedTop,
    hasPruned: prunedRows > 0,
    width: last.left + last.width + margin,
    height: prunedTop + (prunedRows ? prunedRows * pruned + 8 : 0),
    /** @param {TreeNode} node @returns {Box} */
    box: ({ step, row: index, lane }) => ({
      ...places[step + 1],
      top: tops[lane] + index * strides[lane],
      height: heights[lane],
    }),
  };
};

/**
 * Return the half-open range of steps whose columns are within a screen of the visible part.
 * @param {{left: number, width: number}[]} places the root's column first
 * @param {number} left
 * @param {number} width
 * @returns {[number, number]}
 */
export const visibleSteps = (places, left, width) => {
  const steps = places.slice(1),
    isNear = (place) => place.left + place.width > left - width && place.left < left + 2 * width;
  const first = steps.findIndex(isNear);
  return first < 0 ? [0, 0] : [first, steps.findLastIndex(isNear) + 1];
};

/**
 * A tree as the panel shows it: linked nodes, layout, the best path, and what survived.
 * @param {import("./types.d.ts").SearchTreeResponse} tree
 */
export const treeModel = (tree) => {
  const { root: start, columns } = linkTree(tree.steps);
  /** @param {number} step @param {number} rank @param {boolean} isPruned */
  const nodeAt = (step, rank, isPruned) =>
    columns[step]?.find((node) => node.rank === rank && (node.lane === "pruned") === isPruned);
  const finished = tree.finished.map(([step, rank]) => /** @type {TreeNode} */ (nodeAt(step, rank, false)));
  const best = finished[0],
    bestPath = new Set(pathTo(best));
  const lastKept = columns[columns.length - 1].filter(({ lane }) => lane !== "pruned");
  const survivors = new Set([...finished, ...lastKept].flatMap(pathTo)); // with all their prefixes
  const hasMore = tree.steps.some((step) => step.more_pruned);
  return { tree, start, columns, nodeAt, finished, best, bestPath, survivors, layout: treeLayout(columns, hasMore) };
};

/** @typedef {ReturnType<typeof treeModel>} TreeModel */

/**
 * Style of a node: its lane, and whether it is on the best path or was pruned later.
 * @param {TreeModel} model
 * @param {TreeNode} node
 */
export const nodeClass = ({ bestPath, survivors }, node) => {
  if (node.lane === "root") return "root best";
  if (node.lane === "pruned") return "pruned";
  return [node.lane, bestPath.has(node) && "best", !survivors.has(node) && "dead"].filter(Boolean).join(" ");
};

/**
 * The node that a key moves to; undefined if there is none, or for other keys.
 * @param {TreeModel} model
 * @param {TreeNode} node
 * @param {string} key
 * @returns {TreeNode | null | undefined}
 */
export const nodeByKey = ({ start, best, bestPath, survivors, columns }, node, key) => {
  const { children, parent } = node,
    column = columns[node.step] ?? [start];
  if (key === "ArrowLeft") return parent;
  if (key === "ArrowUp") return column[column.indexOf(node) - 1];
  if (key === "ArrowDown") return column[column.indexOf(node) + 1];
  if (key === "Home") return start;
  if (key === "End") return best;
  if (key !== "ArrowRight") return undefined;
  return children.find((child) => bestPath.has(child)) ?? children.find((child) => survivors.has(child)) ?? children[0];
};

/**
 * Scroll position that shows a column with a margin beside it; unchanged if it is visible.
 * @param {Box} box
 * @param {{scrollLeft: number, clientWidth: number}} stage
 */
export const scrollToBox = ({ left, width }, { scrollLeft, clientWidth }) => {
  const margin = Math.min(80, clientWidth / 4);
  if (left - margin < scrollLeft) return left - margin;
  return Math.max(scrollLeft, left + width + margin - clientWidth);
};

/**
 * Numbers of the first and the last step of which a part is visible, from 1.
 * @param {{left: number, width: number}[]} places the root's column first
 * @param {number} left
 * @param {number} width
 * @returns {[number, number]}
 */
export const stepsInView = (places, left, width) => {
  const isVisible = (place) => place.left + place.width > left && place.left < left + width;
  return [Math.max(1, places.findIndex(isVisible)), Math.max(1, places.findLastIndex(isVisible))];
};
