/**
 * How one number arose: the operands that it read, the largest terms and their sum.
 *
 * @typedef {{operand: number, region: import("./trace_tensor.js").Region}} Read an operand and the part that was read
 * @typedef {import("./trace_attention_terms.js").Term} Term
 * @typedef {{reads: Read[], terms: Term[], lines: {text: string, value: number}[]}} Explanation
 */
import {
  additiveScore,
  alignedIndex,
  at,
  blockIndex,
  number,
  product,
  rowOf,
  scaledDot,
  softmax,
  sum,
  weightedSum,
} from "./trace_attention_terms.js";
import {
  ACTIVATIONS,
  concatSource,
  GATED,
  gramMinusIdentity,
  isComputable,
  MIXTURES,
  normStatistics,
  pairAt,
} from "./trace_operations.js";
import { flatIndex, indexAt } from "./trace_tensor.js";

const norm = ([x], index, parameters) => {
  const i = index[index.length - 1],
    width = x.shape[x.shape.length - 1],
    row = rowOf(x, index);
  const start = flatIndex(x.shape, [...row.slice(0, -1), 0]),
    value = x.data[start + i];
  const { mean, deviation } = normStatistics(x.data, start, width, i, parameters);
  const gamma = parameters.gamma?.[i] ?? 1,
    beta = parameters.beta?.[i] ?? 0,
    normalized = (value - mean) / deviation;
  return {
    reads: [{ operand: 0, region: row }],
    terms: [],
    lines: [
      { text: "x", value },
      { text: "μ", value: mean },
      { text: "σ", value: deviation },
      { text: `(${number(value)} − ${number(mean)}) / ${number(deviation)}`, value: normalized },
      { text: `× γ ${number(gamma)} + β ${number(beta)}`, value: normalized * gamma + beta },
    ],
  };
};

const addition = (operands, index, { scale: factor = 1 }) => {
  const reads = operands.map((operand, i) => ({ operand: i, region: alignedIndex(operand, index) }));
  const terms = reads.map(({ operand, region }) => {
    const value = at(operands[operand], region);
    return { operand, i: 0, text: number(value), value };
  });
  const total = sum(terms),
    scaled = factor === 1 ? [] : [{ text: `× ${number(factor)}`, value: total * factor }];
  return { reads, terms, lines: [{ text: "Σ", value: total }, ...scaled] };
};

/** Values of all operands at the same index. */
const aligned = (operands, index) => operands.map((operand) => at(operand, alignedIndex(operand, index)));
const sameCells = (operands, index) =>
  operands.map((operand, i) => ({ operand: i, region: alignedIndex(operand, index) }));

const gateMix = (operands, index, { variant }) => {
  const pairs = MIXTURES[variant](aligned(operands, index));
  const terms = pairs.map(([a, b], i) => ({ i, text: product(a, b), value: a * b }));
  return { reads: sameCells(operands, index), terms, lines: [{ text: "Σ", value: sum(terms) }] };
};

const pairReads = (operands, index, width) => {
  if (operands.length > 1) return sameCells(operands, index);
  const i = index[index.length - 1],
    leading = alignedIndex(operands[0], index).slice(0, -1);
  return [
    { operand: 0, region: [...leading, i] },
    { operand: 0, region: [...leading, i + width] },
  ];
};

const activation = (operands, index, parameters, shape) => {
  const { variant: name } = parameters;
  if (!(name in GATED)) {
    const [x] = aligned(operands, index);
    return {
      reads: sameCells(operands, index),
      terms: [],
      lines: [{ text: `${name}(${number(x)})`, value: ACTIVATIONS[name](x) }],
    };
  }
  const width = shape[shape.length - 1],
    [a, b] = pairAt(operands, width, flatIndex(shape, index));
  const text = name === "glu" ? `${number(a)} × σ(${number(b)})` : `silu(${number(a)}) × ${number(b)}`;
  return { reads: pairReads(operands, index, width), terms: [], lines: [{ text, value: GATED[name](a, b) }] };
};

const maxout = (operands, index, _, shape) => {
  const width = shape[shape.length - 1],
    [a, b] = pairAt(operands, width, flatIndex(shape, index));
  return {
    reads: pairReads(operands, index, width),
    terms: [],
    lines: [{ text: `max(${number(a)}, ${number(b)})`, value: Math.max(a, b) }],
  };
};

const linear = ([x], index, { weight, bias }, shape) => {
  const missing = index.length - x.shape.length; // a result by head has one axis more than its input
  const row = x.shape
    .slice(0, -1)
    .map((length, axis) => Math.min(index[axis + Math.max(0, missing)] ?? 0, length - 1));
  const reads = [{ operand: 0, region: [...row, null] }];
  if (!weight) return { reads, terms: [], lines: [] };
  const width = x.shape[x.shape.length - 1],
    unit = flatIndex(shape, index) % (weight.length / width);
  const terms = Array.from({ length: width }, (_, p) => {
    const a = at(x, [...row, p]),
      b = weight[unit * width + p];
    return { operand: 0, axis: x.shape.length - 1, i: p, text: product(a, b), value: a * b };
  });
  const total = sum(terms),
    lines = [{ text: "Σ", value: total }];
  if (bias) lines.push({ text: `+ ${number(bias[unit])}`, value: total + bias[unit] });
  return { reads, terms, lines };
};

const mean = ([x], index) => {
  const rows = x.shape[x.shape.length - 2],
    column = index[index.length - 1],
    leading = index.slice(0, -1).slice(0, x.shape.length - 2);
  const terms = Array.from({ length: rows }, (_, i) => {
    const value = at(x, [...leading, i, column]) / rows;
    return { operand: 0, axis: x.shape.length - 2, i, text: `${number(value * rows)} / ${rows}`, value };
  });
  return {
    reads: [{ operand: 0, region: [...leading, null, column] }],
    terms,
    lines: [{ text: "Σ", value: sum(terms) }],
  };
};

const penalty = ([a]) => {
  const rows = a.shape[a.shape.length - 2],
    gram = gramMinusIdentity(a);
  const terms = Array.from(gram, (value, i) => ({
    i,
    text: `(AAᵀ − I)[${Math.floor(i / rows) + 1}, ${(i % rows) + 1}]² = ${number(value)}²`,
    value: value * value,
  }));
  return {
    reads: [{ operand: 0, region: a.shape.map(() => null) }],
    terms,
    lines: [{ text: "Σ", value: sum(terms) }],
  };
};

const concat = (operands, index, _, shape) => {
  const [operand, flat] = concatSource(operands, shape, flatIndex(shape, index));
  return { reads: [{ operand, region: indexAt(operands[operand].shape, flat) }], terms: [], lines: [] };
};

const window = ([x], index, { kernel = 1, left = 0, dilation = 1 }) => {
  const row = index[index.length - 2] ?? 0,
    rows = x.shape[x.shape.length - 2];
  const reads = Array.from({ length: kernel }, (_, k) => row + (k - left) * dilation)
    .filter((i) => i >= 0 && i < rows)
    .map((i) => ({ operand: 0, region: blockIndex(x, index, i, null) }));
  return { reads, terms: [], lines: [] };
};

const scale = (operands, index, parameters) => {
  const [x] = aligned(operands, index);
  return {
    reads: sameCells(operands, index),
    terms: [],
    lines: [{ text: product(x, parameters.scale), value: x * parameters.scale }],
  };
};
const mask = (operands, index) => ({ reads: sameCells(operands, index), terms: [], lines: [] });

const EXPLANATIONS = {
  scaled_dot: scaledDot,
  additive_score: additiveScore,
  weighted_sum: weightedSum,
  softmax,
  norm,
  add: addition,
  residual: addition,
  gate_mix: gateMix,
  activation,
  maxout,
  linear,
  logits: linear,
  mean,
  penalty,
  concat,
  window,
  scale,
  mask,
};

/**
 * Explain the number at an index of a result.
 *
 * @returns {Explanation}
 */
export const explain = (operation, operands, parameters, shape, index) => {
  const known = EXPLANATIONS[operation];
  const needsNumbers = !["linear", "logits", "window"].includes(operation);
  const hasNumbers =
    operands.length > 0 &&
    operands.every(Boolean) &&
    (!needsNumbers || isComputable(operation, operands, parameters));
  return known && hasNumbers ? known(operands, index, parameters, shape) : { reads: [], terms: [], lines: [] };
};
