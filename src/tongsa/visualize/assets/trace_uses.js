/** The largest terms of a sum, and the part of a result that reads one number. */

/** The largest terms, the number of the others, and the others' sum. */
export const largestTerms = (terms, limit) => {
  const sorted = [...terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const rest = sorted.slice(limit);
  return {
    largest: sorted.slice(0, limit),
    count: rest.length,
    rest: rest.reduce((total, { value }) => total + value, 0),
  };
};

/**
 * The rows of an operand that a linear result reads: where an axis counts the same as one of the result, its index
 * there, else all.
 *
 * @param {{axes: string[], labels?: string[]}} result
 * @param {{axes: string[], labels?: string[]}} operand
 * @param {number[]} index of the result
 */
export const linearRows = (result, operand, index) =>
  operand.axes.map((name, axis) => {
    if (axis === operand.axes.length - 1) return null;
    const label = operand.labels?.[axis];
    const same = label ? (result.labels?.indexOf(label) ?? -1) : result.axes.indexOf(name);
    return same < 0 ? null : index[same];
  });

const SAME_CELL = ["add", "residual", "scale", "mask", "activation", "gate_mix", "maxout"];

/**
 * The part of a result that reads one number of an operand.
 *
 * @param {number} position of the operand
 * @param {number[]} index of the number in the operand
 * @returns {import("./trace_tensor.js").Region | null}
 */
export const usedIn = (operation, position, operandShape, shape, index) => {
  const lead = shape.length - 2,
    missing = shape.length - index.length;
  const leading = shape.slice(0, Math.max(0, lead)).map((_, axis) => (axis < missing ? null : index[axis - missing]));
  const [row, column] = index.slice(-2);
  const last = index[index.length - 1],
    width = shape[shape.length - 1];
  if (SAME_CELL.includes(operation)) {
    const inside = operandShape[operandShape.length - 1] === width ? last : last % width; // one of two halves
    return [...shape.slice(0, -1).map((_, axis) => (axis < missing ? null : index[axis - missing])), inside];
  }
  if (operation === "scaled_dot" || operation === "additive_score")
    return [...leading, ...(position ? [null, row] : [row, null])];
  if (operation === "weighted_sum") return [...leading, ...(position ? [null, column] : [row, null])];
  if (operation === "mean") return [...leading, column].slice(-shape.length);
  if (operation === "concat" && operandShape.length === shape.length + 1) {
    return [...index.slice(1, -1), index[0] * operandShape[operandShape.length - 1] + last];
  }
  if (["softmax", "norm", "linear", "logits", "concat"].includes(operation) && shape.length > 1)
    return [...leading, row, null];
  return null;
};
