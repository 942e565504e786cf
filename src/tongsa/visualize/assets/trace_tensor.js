/**
 * Tensors of a trace: packed numbers, shapes and indices.
 *
 * @typedef {{shape: number[], data: Float32Array}} Tensor row-major numbers
 * @typedef {(number | null)[]} Region an index of a tensor; null means the whole axis
 */

const inflate = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};
/** A 16-bit float as a number. */
export const halfFloat = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1,
    exponent = (bits >> 10) & 31,
    fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
};

/** Floats whose bytes are stored plane by plane: all first bytes, then all second bytes, and so on. */
export const floatsFromPlanes = (planes, dtype = "float32") => {
  const width = dtype === "float16" ? 2 : 4,
    count = planes.length / width,
    bytes = new Uint8Array(planes.length);
  for (let i = 0; i < count; i++) for (let k = 0; k < width; k++) bytes[i * width + k] = planes[k * count + i];
  return width === 4 ? new Float32Array(bytes.buffer) : Float32Array.from(new Uint16Array(bytes.buffer), halfFloat);
};
/** Decode base64, zlib and byte planes to floats. */
export const unpackFloats = async (packed, dtype = "float32") =>
  floatsFromPlanes(new Uint8Array(await inflate(packed)), dtype);

/** Decode base64, zlib and JSON; each entry "values" is an index of the arrays, which are packed themselves. */
export const unpackJson = async ({ packed, arrays }) =>
  JSON.parse(new TextDecoder().decode(await inflate(packed)), (key, value) =>
    key === "values" && Number.isInteger(value) ? arrays[value] : value,
  );

/** The first `count` bits, highest first, as bytes 0 and 1. */
export const bitsFromBytes = (bytes, count) =>
  Uint8Array.from({ length: count }, (_, i) => (bytes[i >> 3] >> (7 - (i & 7))) & 1);
/** Decode base64 and zlib to bits. */
export const unpackBits = async (packed, count) => bitsFromBytes(new Uint8Array(await inflate(packed)), count);

/** Number of elements of a shape; a scalar has one. */
export const sizeOf = (shape) => shape.reduce((product, length) => product * length, 1);

export const stridesOf = (shape) => {
  const strides = new Array(shape.length);
  for (let axis = shape.length - 1, stride = 1; axis >= 0; stride *= shape[axis--]) strides[axis] = stride;
  return strides;
};

export const flatIndex = (shape, index) => index.reduce((flat, i, axis) => flat * shape[axis] + i, 0);

export const indexAt = (shape, flat) => {
  const index = new Array(shape.length);
  for (let axis = shape.length - 1, rest = flat; axis >= 0; rest = Math.floor(rest / shape[axis--])) {
    index[axis] = rest % shape[axis];
  }
  return index;
};

/** True if an index lies in a region. */
export const contains = (region, index) => region.every((i, axis) => i === null || i === index[axis]);

/**
 * The part of a tensor that a card draws: its last two axes, with a fixed index on the others.
 *
 * @param {{axes: string[], shape: number[]}} meta
 * @param {Record<string, number>} fixed axis name → index, such as the chosen head
 */
export const matrixOf = ({ axes, shape }, fixed) => {
  const strides = stridesOf(shape),
    rowAxis = shape.length - 2,
    columnAxis = shape.length - 1;
  const leading = shape
    .slice(0, Math.max(0, rowAxis))
    .map((length, axis) => Math.min(fixed[axes[axis]] ?? 0, length - 1));
  const rows = rowAxis >= 0 ? shape[rowAxis] : 1,
    columns = columnAxis >= 0 ? shape[columnAxis] : 1;
  const offset = leading.reduce((sum, i, axis) => sum + i * strides[axis], 0);
  return {
    rows,
    columns,
    rowAxis,
    columnAxis,
    leading,
    flat: (row, column) => offset + row * columns + column,
    index: (row, column) => [...leading, ...[row, column].slice(2 - Math.min(2, shape.length))],
  };
};

/** Rectangle [row, column, rows, columns] of a region in a card's matrix; null if another slice is drawn. */
export const rectangleOf = (matrix, region) => {
  if (!matrix.leading.every((i, axis) => region[axis] === null || region[axis] === i)) return null;
  const row = matrix.rowAxis >= 0 ? region[matrix.rowAxis] : 0,
    column = matrix.columnAxis >= 0 ? region[matrix.columnAxis] : 0;
  return [row ?? 0, column ?? 0, row === null ? matrix.rows : 1, column === null ? matrix.columns : 1];
};

/** The size below which `share` of the absolute values lie: one outlier does not fade a whole picture. */
export const magnitude = (data, share = 1) => {
  const sizes = Float32Array.from(data.filter(Number.isFinite), Math.abs).sort();
  return sizes.length ? sizes[Math.min(sizes.length - 1, Math.ceil(sizes.length * share) - 1)] || 1 : 1;
};
