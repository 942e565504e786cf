/**
 * Numbers as text, indices of operands, and the terms of attention: scores, softmax, weighted sums.
 *
 * @typedef {import("./trace_tensor.js").Tensor} Tensor
 * @typedef {import("./trace_tensor.js").Region} Region
 * @typedef {{operand?: number, axis?: number, i: number, text: string, value: number}} Term
 */
import { signed } from "./format.js";
import { flatIndex } from "./trace_tensor.js";

const DIGITS = 4;
export const number = (value) => {
  if (value === -Infinity) return "−∞";
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size !== 0 && size < 1e-3 ? value.toExponential(2).replaceAll("-", "−") : signed(value, DIGITS);
};
export const product = (a, b) => `${number(a)} × ${number(b)}`;

/** The same index in an operand that may lack leading axes; a single-head operand is read by all heads. */
export const alignedIndex = (operand, index) => {
  const missing = index.length - operand.shape.length;
  return operand.shape.map((length, axis) => {
    const i = index[axis + missing];
    return i === undefined || i === null ? null : Math.min(i, length - 1);
  });
};
/** The leading index, and then these last two. */
export const blockIndex = (operand, index, row, column) => {
  const leading = index.slice(0, -2),
    missing = leading.length - (operand.shape.length - 2);
  return [
    ...operand.shape.slice(0, -2).map((length, axis) => Math.min(leading[axis + missing] ?? 0, length - 1)),
    row,
    column,
  ];
};
export const at = (operand, index) => operand.data[flatIndex(operand.shape, index)];
export const sum = (terms) => terms.reduce((total, { value }) => total + value, 0);
/** Read the aligned row of the first operand: for sums over its width. */
export const rowOf = (operand, index) => [...alignedIndex(operand, index).slice(0, -1), null];

export const scaledDot = ([q, k], index, { scale = 1 }) => {
  const [i, j] = index.slice(-2),
    width = q.shape[q.shape.length - 1];
  const terms = Array.from({ length: width }, (_, p) => {
    const a = at(q, blockIndex(q, index, i, p)),
      b = at(k, blockIndex(k, index, j, p));
    return { operand: 0, axis: q.shape.length - 1, i: p, text: product(a, b), value: a * b };
  });
  const total = sum(terms);
  const lines = [{ text: "Σ", value: total }];
  if (scale !== 1) lines.push({ text: `× ${number(scale)}`, value: total * scale });
  return {
    reads: [
      { operand: 0, region: blockIndex(q, index, i, null) },
      { operand: 1, region: blockIndex(k, index, j, null) },
    ],
    terms,
    lines,
  };
};

export const additiveScore = ([q, k], index, { v }) => {
  const [i, j] = index.slice(-2),
    width = q.shape[q.shape.length - 1];
  const head = index.length > 2 ? index[index.length - 3] : 0,
    first = (head * width) % v.length;
  const terms = Array.from({ length: width }, (_, p) => {
    const hidden = Math.tanh(at(q, blockIndex(q, index, i, p)) + at(k, blockIndex(k, index, j, p)));
    return {
      operand: 0,
      axis: q.shape.length - 1,
      i: p,
      text: product(v[first + p], hidden),
      value: v[first + p] * hidden,
    };
  });
  return {
    reads: [
      { operand: 0, region: blockIndex(q, index, i, null) },
      { operand: 1, region: blockIndex(k, index, j, null) },
    ],
    terms,
    lines: [{ text: "Σ", value: sum(terms) }],
  };
};

export const weightedSum = ([weights, values], index) => {
  const [i, p] = index.slice(-2),
    keys = weights.shape[weights.shape.length - 1];
  const terms = Array.from({ length: keys }, (_, j) => {
    const a = at(weights, blockIndex(weights, index, i, j)),
      b = at(values, blockIndex(values, index, j, p));
    return { operand: 0, axis: weights.shape.length - 1, i: j, text: product(a, b), value: a * b };
  });
  return {
    reads: [
      { operand: 0, region: blockIndex(weights, index, i, null) },
      { operand: 1, region: blockIndex(values, index, null, p) },
    ],
    terms,
    lines: [{ text: "Σ", value: sum(terms) }],
  };
};

export const softmax = ([scores], index) => {
  const row = rowOf(scores, index),
    width = scores.shape[scores.shape.length - 1],
    axis = scores.shape.length - 1;
  const values = Array.from({ length: width }, (_, j) => at(scores, [...row.slice(0, -1), j]));
  const max = Math.max(...values);
  const terms = values.map((value, j) => ({
    operand: 0,
    axis,
    i: j,
    text: `exp(${number(value)} − ${number(max)})`,
    value: Math.exp(value - max),
  }));
  const total = sum(terms),
    own = terms[index[index.length - 1]].value;
  return {
    reads: [{ operand: 0, region: row }],
    terms,
    lines: [
      { text: "Σ", value: total },
      { text: `${number(own)} / ${number(total)}`, value: own / total },
    ],
  };
};
