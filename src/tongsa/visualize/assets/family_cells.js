/** Cells of the family page: attention as a table, vectors as strips, top 5, beam, thumbnails. */
import { SPACE_DOT, displayToken } from "./canvas_text.js";
import { bitmap, colorOf, textColorOn } from "./colors.js";
import { make } from "./dom.js";
import { attentionGrid, decodeSigned } from "./family_data.js";
import { SPACE, percent, signed, truncate } from "./format.js";

/** @typedef {import("./family_data.js").Grid} Grid */
/** @typedef {import("./family_data.js").Column} Column */
/** @typedef {import("./family_data.js").Moment} Moment */
/** @typedef {import("./family_data.js").SignedMatrix} SignedMatrix */
/** @typedef {import("./family_view.js").FamilyWords} FamilyWords */

const THUMBNAIL_ROWS = 40;

/** @param {number} value @param {"sequential" | "diverging"} scale */
const weightCell = (value, scale) => {
  const color = colorOf(value, 1, scale), digits = scale === "diverging" ? signed(value, 2) : value.toFixed(2);
  const cell = make("td", { title: digits }, make("span", { text: digits.replace(/^(−?)0\./, "$1.") }));
  cell.style.backgroundColor = `rgb(${color.join(" ")})`;
  cell.style.color = textColorOn(color);
  return cell;
};

/**
 * Attention as a table of numbers: rows read, columns are read.
 * @param {Grid} grid
 * @param {string} caption for screen readers
 * @param {"sequential" | "diverging"} [scale]
 */
export const heatTable = ({ queries, keys, weights }, caption, scale = "sequential") => {
  const head = make("tr", {}, make("td"), ...keys.map((key) =>
    make("th", { scope: "col", title: key }, make("span", { text: truncate(displayToken(key), 10) }))));
  const rows = queries.map((query, row) => {
    const cells = keys.map((_, i) => weightCell(weights[row * keys.length + i], scale));
    return make("tr", { "data-row": row, "data-word": query },
      make("th", { scope: "row", title: query, text: truncate(displayToken(query), 9), dir: "auto" }), ...cells);
  });
  const size = keys.length <= 7 ? "large" : keys.length <= 12 ? "middle" : "small";
  return make("table", { class: `heat ${size}` }, make("caption", { class: "unseen", text: caption }),
    make("thead", {}, head), make("tbody", {}, ...rows));
};

/** A matrix of signed numbers as a picture, one row per vector. @param {SignedMatrix} matrix @param {string} label */
export const strip = (matrix, label) => {
  const [rows, columns] = matrix.shape, canvas = bitmap(decodeSigned(matrix), rows, columns, 1, "diverging");
  canvas.className = "strip";
  canvas.style.height = `${Math.max(10, Math.min(9, 200 / rows) * rows)}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  return canvas;
};

/** @param {Column} column @param {Moment} moment @param {FamilyWords} labels */
export const slotsText = (column, { memory, reads }, labels) => {
  const [count] = memory.shape, { width } = memory;
  if (!count) return labels.slots.none;
  if (count === 1) return labels.slots.one(width);
  if (column.kind === "structured_self_attention") return labels.slots.hops(count, width);
  const isPerToken = count === column.source.tokens.length && reads !== "hops";
  return isPerToken ? labels.slots.source(count, width) : labels.slots.many(count, width);
};

/** @param {Column} column @param {Moment} moment @param {FamilyWords} labels */
export const memoryCell = (column, moment, labels) => {
  const text = slotsText(column, moment, labels), { memory } = moment;
  const parts = [make("p", { text })];
  if (!memory.shape[0]) return parts;
  const note = memory.shape[1] < memory.width ? labels.thinned(memory.shape[1], memory.width) : "";
  return [...parts, strip(memory, text), make("p", { class: "quiet small", text: note })];
};

/** What a model without attention does instead. @param {Moment} moment @param {FamilyWords} labels */
export const stateCell = (moment, labels) => {
  const [count] = moment.memory.shape;
  const several = { slots: labels.pooled, unweighted: labels.unweighted }[moment.reads];
  const text = several ? several(count) : count ? labels.nothing : labels.noMemory;
  return [make("p", { class: "nothing", text }), strip(moment.states, text)];
};

/** A token whose mark of a word's start is quiet. @param {string} token @param {number} length */
const tokenParts = (token, length) => {
  if (token === SPACE) return [SPACE_DOT]; // the whole label: not quiet
  const mark = token.startsWith(SPACE) ? [make("span", { class: "mark", text: SPACE_DOT })] : [];
  return [...mark, truncate(token.slice(mark.length), length)];
};

/**
 * Bars of the likeliest tokens at an output step.
 * @param {Column} column
 * @param {Moment} moment
 * @param {number} step
 * @param {FamilyWords} labels
 */
export const topCell = (column, moment, step, labels) => {
  const top = moment.top[step];
  if (!top) return [make("p", { class: "quiet small", text: labels.ended })];
  const chosen = moment.target.tokens[step];
  return [make("ol", { class: "tokens" }, ...top.map(([id, share]) => {
    const token = column.vocabulary[id], bar = make("i", { "aria-hidden": "true" });
    bar.style.width = `${100 * share}%`;
    const value = share >= 0.01 ? percent(share) : "<1%";
    return make("li", token === chosen ? { class: "chosen" } : {},
      bar, make("bdi", { title: token }, ...tokenParts(token, 14)), make("b", { text: value }));
  }))];
};

/**
 * Kept hypotheses of each step, best first.
 * @param {Column} column
 * @param {number} step
 * @param {FamilyWords} labels
 */
export const beamCell = ({ tree }, step, labels) => {
  if (!tree) return [];
  const height = Math.max(...tree.steps.map((kept) => kept.length));
  const head = tree.steps.map((_, i) => make("th", { scope: "col", text: i + 1, class: i === step ? "here" : "" }));
  const rows = Array.from({ length: height }, (_, rank) => make("tr", {}, ...tree.steps.map((kept, i) => {
    const candidate = kept[rank];
    if (!candidate) return make("td");
    const [token, , logProb, isFinished] = candidate, isBest = tree.best[i] === rank;
    const name = [isBest && "best", isFinished && "finished", i === step && "here"].filter(Boolean).join(" ");
    return make("td", { class: name, title: `log p ${signed(logProb, 2)}`, dir: "auto" }, ...tokenParts(token, 8));
  })));
  const header = make("thead", {}, make("tr", {}, ...head));
  const table = make("table", { class: "beam" }, header, make("tbody", {}, ...rows));
  return [make("div", { class: "scroller", tabindex: 0, role: "group", "aria-label": labels.rows.beam }, table)];
};

/**
 * The attention, or the states of a model without it, as a small picture.
 * @param {Column} column
 * @param {Moment} moment
 */
export const thumbnail = (column, moment) => {
  const grid = attentionGrid(column, moment, "tokens");
  if (!grid) {
    const [rows, columns] = moment.states.shape;
    return bitmap(decodeSigned(moment.states), Math.min(rows, THUMBNAIL_ROWS), columns, 1, "diverging");
  }
  return bitmap(grid.weights, grid.queries.length, grid.keys.length, 1);
};
