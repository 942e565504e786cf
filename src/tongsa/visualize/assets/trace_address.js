/**
 * The page's address: step, layer, head, followed token, pointed cell, tour step.
 *
 * @typedef {{tensor: string, index: number[]}} Cell
 * @typedef {{side: "source" | "target", i: number}} Token
 * @typedef {{step: number, layer: number, head: number, cell: Cell | null, token: Token | null,
 *   tour: number}} Selection
 */
import { clamp } from "./format.js";

/** A cell as text: t3.0.2.4, numbered from 1 like everything that the reader sees. */
export const cellText = (cell) => (cell ? [cell.tensor, ...cell.index.map((i) => i + 1)].join(".") : "");

/** @returns {Cell | null} */
export const parseCell = (text, tensors) => {
  const [tensor, ...numbers] = String(text ?? "").split("."),
    index = numbers.map((i) => Number(i) - 1);
  if (!Object.hasOwn(tensors, tensor)) return null;
  const { shape } = tensors[tensor];
  const isInside =
    index.length === shape.length && index.every((i, axis) => Number.isInteger(i) && i >= 0 && i < shape[axis]);
  return isInside ? { tensor, index } : null;
};

/**
 * The layer to open for a number: itself, the next one below, or the first.
 * @param {number[]} layers in order; some may be left out
 * @param {number} layer
 */
export const nearestLayer = (layers, layer) => layers.findLast((other) => other <= layer) ?? layers[0];

/** The layer after a move up or down, where some layers may be left out. */
export const movedLayer = (layers, from, to) =>
  to > from ? (layers.find((other) => other >= to) ?? layers[layers.length - 1]) : nearestLayer(layers, to);

const integer = (text, otherwise) => (/^\d{1,6}$/.test(text ?? "") ? Number(text) : otherwise);

/** @returns {Token | null} */
export const parseToken = (text, counts) => {
  const match = /^(source|target)(\d{1,6})$/.exec(text ?? ""),
    i = match ? Number(match[2]) - 1 : -1;
  const side = match?.[1] === "source" ? "source" : "target";
  return match && i >= 0 && i < counts[side] ? { side, i } : null;
};

/**
 * Read a selection; whatever the address says, the result is valid for this trace.
 *
 * @param {Record<string, string>} saved
 * @param {{steps: number, layers: number[], heads: number, tour: number, tensors: Record<string, {shape: number[]}>,
 *   counts: {source: number, target: number}}} limits
 * @returns {Selection}
 */
export const readSelection = (saved, { steps, layers, heads, tour, tensors, counts }) => ({
  step: clamp(integer(saved.step, steps), 1, Math.max(1, steps)),
  layer: nearestLayer(layers, integer(saved.layer, 1)),
  head: clamp(integer(saved.head, 1), 1, Math.max(1, heads)),
  cell: parseCell(saved.cell, tensors),
  token: parseToken(saved.token, counts),
  tour: clamp(integer(saved.tour, 0), 0, tour),
});

/** @param {Selection} selection */
export const writeSelection = ({ step, layer, head, cell, token, tour }) => ({
  step,
  layer,
  head,
  cell: cellText(cell),
  token: token ? `${token.side}${token.i + 1}` : "",
  tour: tour || "",
});

/** The tensor with the same name in another layer: the same place of the computation. */
export const inLayer = (tensors, stages, id, layer) => {
  const stageOf = (tensor) => stages.find((stage) => stage.tensors.includes(tensor)),
    from = stageOf(id);
  if (!from || from.layer === null || from.layer === layer) return id;
  const candidates = stages.filter((stage) => stage.side === from.side && stage.layer === layer);
  const place = from.tensors.filter((tensor) => tensors[tensor].name === tensors[id].name).indexOf(id);
  const others = stages.filter((stage) => stage.side === from.side && stage.layer === from.layer);
  const target = candidates[others.indexOf(from)];
  return target?.tensors.filter((tensor) => tensors[tensor].name === tensors[id].name)[place] ?? null;
};
