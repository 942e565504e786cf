/** Elements of the search tree panel: the empty panel, boxes of candidates, edges. */
import { displayToken, SPACE_DOT } from "./canvas_text.js";
import { make } from "./dom.js";
import { probability, signed, SPACE } from "./format.js";
import { SIZES } from "./search_tree_data.js";

/** @typedef {import("./search_tree_data.js").TreeNode} TreeNode */
/** @typedef {import("./search_tree_data.js").Box} Box */

/** Return the empty elements of the panel. */
export const treeMarkup = () => [
  make("dl", { id: "texts" }),
  make("p", { id: "note", class: "quiet" }),
  make(
    "section",
    { "aria-labelledby": "tree-title" },
    make("div", { class: "headline" }, make("h2", { id: "tree-title" }), make("ul", { id: "marks", class: "small" })),
    make("div", { id: "readout", role: "status" }),
    minimapElement(),
    make("div", { id: "stage", tabindex: 0, role: "application" }, make("div", { id: "sheet" })),
    make("p", { id: "hint", class: "quiet small" }),
    make("ul", { id: "rules", class: "small" }),
  ),
  make("section", { "aria-labelledby": "stop-title" }, make("h2", { id: "stop-title" }), make("p", { id: "stop" })),
  make(
    "section",
    { "aria-labelledby": "finished-title" },
    make("h2", { id: "finished-title" }),
    make("div", { class: "scroller" }, make("table", { id: "finished" })),
  ),
];

/** The strip of the overview: a scroll bar with a picture. */
const minimapElement = () => {
  const attributes = { tabindex: 0, role: "scrollbar", "aria-controls": "stage", "aria-orientation": "horizontal" };
  return make(
    "div",
    { id: "minimap", hidden: "", "aria-valuenow": 0, ...attributes },
    make("canvas", { "aria-hidden": true }),
    make("div", { class: "frame" }),
  );
};

/** Set the position and the size of an element in CSS pixels. */
export const placeAt = (element, { left, top, width, height = 0 }) => {
  Object.assign(element.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
  if (height) element.style.height = `${height}px`;
  return element;
};
const tokenElement = (token) => {
  const isLone = token === SPACE; // the dot is the whole label: large, not dimmed
  const mark = token.startsWith(SPACE) && !isLone ? [make("span", { class: "mark", text: SPACE_DOT })] : [];
  return make(
    "span",
    { class: isLone ? "token lone" : "token", dir: "auto" },
    ...mark,
    displayToken(token).slice(mark.length ? SPACE_DOT.length : 0),
  );
};

/**
 * Return the box of a candidate.
 * @param {TreeNode} node
 * @param {Box} box
 * @param {string} style
 * @param {number} score of a finished candidate
 */
export const nodeElement = ({ lane, data }, box, style, score) => {
  const { token, token_log_prob: logProb, gap = 0 } = data;
  const part = placeAt(make("div", { class: `node ${style}` }), box);
  if (lane === "root") part.textContent = "<s>";
  else if (lane === "pruned") {
    const distance = signed(-gap, Math.abs(gap) < 0.01 ? 3 : 2);
    part.append(tokenElement(token), make("span", { class: "gap", text: distance }));
  } else {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${100 * Math.exp(logProb)}%`;
    const number = lane === "finished" ? signed(score) : probability(logProb);
    part.append(tokenElement(token), make("span", { class: "probability", text: number }), bar);
  }
  return part;
};

/** Return the path of an edge between two boxes. @param {Box} from @param {Box} to */
export const edgePath = (from, to) => {
  const bend = SIZES.gap / 2;
  const [x1, y1, x2, y2] = [from.left + from.width, from.top + from.height / 2, to.left, to.top + to.height / 2];
  return `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
};
