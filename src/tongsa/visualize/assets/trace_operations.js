/**
 * Operations that the page computes itself from recorded operands, to compare the result with PyTorch's numbers.
 *
 * Each takes the operands, the parameters, and the shape of the result. Sums run in double precision.
 *
 * @typedef {import("./trace_tensor.js").Tensor} Tensor
 */
import { sizeOf } from "./trace_tensor.js";

export const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** The error function by its power series, or for larger x by a continued fraction; exact to about 1e-12. */
export const erf = (x) => {
  const a = Math.abs(x);
  let result = 0;
  if (a < 2.5) {
    for (let n = 0, term = a; Math.abs(term) > 1e-17; n++, term *= -(a * a) / n) result += term / (2 * n + 1);
    result *= 2 / Math.sqrt(Math.PI);
  } else {
    let fraction = 0;
    for (let n = 60; n > 0; n--) fraction = n / 2 / (a + fraction);
    result = 1 - Math.exp(-a * a) / Math.sqrt(Math.PI) / (a + fraction);
  }
  return x < 0 ? -result : result;
};

/** Activations of one number. */
export const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  silu: (x) => x * sigmoid(x),
  tanh: Math.tanh,
  sigmoid,
};
/** Gated activations of two numbers. */
export const GATED = { glu: (a, b) => a * sigmoid(b), silu_gate: (a, b) => ACTIVATIONS.silu(a) * b };
/** Mixtures of recurrent networks: the value, and its terms as products. */
export const MIXTURES = {
  gru: ([z, h, candidate]) => [
    [z, h],
    [1 - z, candidate],
  ],
  ssru_cell: ([f, c, candidate]) => [
    [f, c],
    [1 - f, candidate],
  ],
  lstm_cell: ([f, c, i, g]) => [
    [f, c],
    [i, g],
  ],
  lstm_hidden: ([o, c]) => [[o, Math.tanh(c)]],
};

const lastLength = ({ shape }) => shape[shape.length - 1] ?? 1;
/** Element `i` of an operand with the same trailing axes; missing leading axes are broadcast. */
export const broadcast = ({ data }, i) => data[i % data.length];

const elementwise = (operands, shape, value) => {
  const result = new Float32Array(sizeOf(shape));
  for (let i = 0; i < result.length; i++) result[i] = value(operands.map((operand) => broadcast(operand, i)));
  return result;
};

/** The pair of units whose product, or maximum, is unit `i` of the result: two operands, or two halves of one. */
export const pairAt = (operands, width, i) => {
  if (operands.length > 1) return [broadcast(operands[0], i), broadcast(operands[1], i)];
  const { data } = operands[0],
    start = Math.floor(i / width) * 2 * width + (i % width);
  return [data[start], data[start + width]];
};
const pairwise = (operands, shape, value) => {
  const width = shape[shape.length - 1];
  return Float32Array.from({ length: sizeOf(shape) }, (_, i) => value(...pairAt(operands, width, i)));
};

/** Mean and deviation by which element `i` of a vector is normalized. */
export const normStatistics = (x, start, width, i, { variant: kind, eps = 1e-5, groups = 1, mean, variance }) => {
  if (kind === "batch") return { mean: mean[i], deviation: Math.sqrt(variance[i] + eps) };
  const length = kind === "group" ? width / groups : width;
  const from = start + Math.floor(i / length) * length;
  let sum = 0,
    squares = 0;
  for (let j = from; j < from + length; j++) sum += x[j];
  const center = kind === "rms" ? 0 : sum / length;
  for (let j = from; j < from + length; j++) squares += (x[j] - center) ** 2;
  return { mean: center, deviation: Math.sqrt(squares / length + eps) };
};

const norm = ([{ data, shape }], parameters) => {
  const width = shape[shape.length - 1],
    { variant: kind, groups = 1, gamma, beta } = parameters;
  const length = kind === "group" ? width / groups : kind === "batch" ? 1 : width; // numbers that share statistics
  const result = new Float32Array(data.length);
  for (let start = 0; start < data.length; start += width) {
    for (let first = 0; first < width; first += length) {
      const { mean, deviation } = normStatistics(data, start, width, first, parameters);
      for (let i = first; i < first + length; i++) {
        result[start + i] = ((data[start + i] - mean) / deviation) * (gamma?.[i] ?? 1) + (beta?.[i] ?? 0);
      }
    }
  }
  return result;
};

/** Scores of all pairs of a row of `left` and a row of `right`, for each leading index. */
const allPairs = (left, right, shape, score) => {
  const [rows, columns] = shape.slice(-2),
    width = lastLength(left),
    result = new Float32Array(sizeOf(shape));
  for (let i = 0; i < result.length; i++) {
    const block = Math.floor(i / (rows * columns)),
      row = Math.floor(i / columns) % rows;
    const a = ((block * rows + row) * width) % left.data.length;
    const b = ((block * columns + (i % columns)) * width) % right.data.length;
    result[i] = score(left.data, a, right.data, b, width, block);
  }
  return result;
};

const dot = (a, from, b, start, width) => {
  let sum = 0;
  for (let p = 0; p < width; p++) sum += a[from + p] * b[start + p];
  return sum;
};

const softmax = ([{ data, shape }]) => {
  const width = shape[shape.length - 1],
    result = new Float32Array(data.length);
  for (let start = 0; start < data.length; start += width) {
    let max = -Infinity,
      sum = 0;
    for (let i = start; i < start + width; i++) max = Math.max(max, data[i]);
    for (let i = start; i < start + width; i++) sum += Math.exp(data[i] - max);
    for (let i = start; i < start + width; i++) result[i] = Math.exp(data[i] - max) / sum;
  }
  return result;
};

const weightedSum = ([weights, values], _, shape) => {
  const [rows, width] = shape.slice(-2),
    keys = lastLength(weights),
    result = new Float32Array(sizeOf(shape));
  for (let i = 0; i < result.length; i++) {
    const row = Math.floor(i / width),
      block = Math.floor(row / rows);
    const first = ((block * keys * width) % values.data.length) + (i % width);
    let sum = 0;
    for (let key = 0; key < keys; key++) sum += weights.data[row * keys + key] * values.data[first + key * width];
    result[i] = sum;
  }
  return result;
};

/** Operand and flat index in it of element `flat` of a concatenation: of several operands, or of the heads of one. */
export const concatSource = (operands, shape, flat) => {
  const width = shape[shape.length - 1],
    row = Math.floor(flat / width);
  let column = flat % width;
  if (operands.length === 1) {
    const [heads, rows, part] = operands[0].shape.slice(-3);
    return heads === undefined || part === undefined
      ? [0, flat]
      : [0, (Math.floor(column / part) * rows + row) * part + (column % part)];
  }
  for (let i = 0; i < operands.length; i++) {
    const part = lastLength(operands[i]);
    if (column < part) return [i, (row * part + column) % operands[i].data.length];
    column -= part;
  }
  return [0, 0];
};

const concat = (operands, _, shape) =>
  Float32Array.from({ length: sizeOf(shape) }, (__, flat) => {
    const [i, source] = concatSource(operands, shape, flat);
    return operands[i].data[source];
  });

const linear = ([{ data, shape: inputShape }], { weight, bias }, shape) => {
  const width = inputShape[inputShape.length - 1],
    out = weight.length / width,
    result = new Float32Array(sizeOf(shape));
  for (let i = 0; i < result.length; i++) {
    const unit = i % out;
    result[i] = dot(data, Math.floor(i / out) * width, weight, unit * width, width) + (bias?.[unit] ?? 0);
  }
  return result;
};

const mean = ([{ data, shape }], _, result) => {
  const [rows, width] = shape.slice(-2);
  return Float32Array.from({ length: sizeOf(result) }, (__, i) => {
    const start = Math.floor(i / width) * rows * width + (i % width);
    let sum = 0;
    for (let row = 0; row < rows; row++) sum += data[start + row * width];
    return sum / rows;
  });
};

/** A·Aᵀ − I, whose squared sum is the penalty of Lin et al. 2017. */
export const gramMinusIdentity = ({ data, shape }) => {
  const [rows, width] = shape.slice(-2);
  return Float32Array.from({ length: rows * rows }, (_, i) => {
    const row = Math.floor(i / rows),
      column = i % rows;
    return dot(data, row * width, data, column * width, width) - (row === column ? 1 : 0);
  });
};

const OPERATIONS = {
  add: (operands, { scale = 1 }, shape) =>
    elementwise(operands, shape, (values) => values.reduce((sum, value) => sum + value) * scale),
  scale: (operands, { scale }, shape) => elementwise(operands, shape, ([x]) => x * scale),
  norm,
  softmax,
  concat,
  linear,
  mean,
  scaled_dot: ([q, k], { scale = 1 }, shape) => allPairs(q, k, shape, (...pair) => dot(...pair) * scale),
  additive_score: ([q, k], { v }, shape) =>
    allPairs(q, k, shape, (a, from, b, start, width, block) => {
      let sum = 0;
      const first = (block * width) % v.length;
      for (let p = 0; p < width; p++) sum += v[first + p] * Math.tanh(a[from + p] + b[start + p]);
      return sum;
    }),
  mask: (operands, { mask }, shape) =>
    elementwise(operands, shape, ([x]) => x).map((x, i) => (mask && !mask[i % mask.length] ? -Infinity : x)),
  weighted_sum: weightedSum,
  activation: (operands, parameters, shape) =>
    GATED[parameters.variant]
      ? pairwise(operands, shape, GATED[parameters.variant])
      : elementwise(operands, shape, ([x]) => ACTIVATIONS[parameters.variant](x)),
  gate_mix: (operands, { variant }, shape) =>
    elementwise(operands, shape, (values) => MIXTURES[variant](values).reduce((sum, [a, b]) => sum + a * b, 0)),
  maxout: (operands, _, shape) => pairwise(operands, shape, Math.max),
  penalty: ([a]) => Float32Array.of(gramMinusIdentity(a).reduce((sum, x) => sum + x * x, 0)),
};
OPERATIONS.residual = OPERATIONS.add;
OPERATIONS.logits = linear;

/** True if the page can compute this operation from these operands and parameters. */
export const isComputable = (operation, operands, parameters) => {
  if (!operands.length || !(operation in OPERATIONS)) return false;
  if (operation === "linear" || operation === "logits") return Boolean(parameters.weight);
  if (operation === "additive_score") return Boolean(parameters.v);
  if (operation === "gate_mix") return parameters.variant in MIXTURES;
  if (operation === "activation") return parameters.variant in ACTIVATIONS || parameters.variant in GATED;
  return true;
};

/** Compute a tensor from its operands. */
export const compute = (operation, operands, parameters, shape) => OPERATIONS[operation](operands, parameters, shape);

/** Rows of another time: with a shift of −1, h_{t−1} for all t. What lies outside is `initial`, or zeros. */
export const shifted = ({ data, shape }, shift, initial) => {
  const [rows, width] = shape.length > 1 ? shape.slice(-2) : [shape[0], 1],
    result = new Float32Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const row = (Math.floor(i / width) % rows) + shift;
    result[i] = row >= 0 && row < rows ? data[i + shift * width] : (initial?.[i % width] ?? 0);
  }
  return { shape, data: result };
};

/** One row of a matrix, as a vector. @param {number | null} row */
export const rowOfTensor = (tensor, row) => {
  if (row === null) return tensor;
  const width = lastLength(tensor);
  return { shape: tensor.shape.slice(1), data: tensor.data.subarray(row * width, (row + 1) * width) };
};

/** Some columns of the last axis. @param {[number, number] | null} part start and stop */
export const partOf = (tensor, part) => {
  if (!part) return tensor;
  const [start, stop] = part,
    { data, shape } = tensor,
    width = lastLength(tensor),
    result = { shape: [...shape.slice(0, -1), stop - start] };
  return { ...result, data: data.filter((_, i) => i % width >= start && i % width < stop) };
};
