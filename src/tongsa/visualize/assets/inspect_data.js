/** Data of the inspection page: unpacking, lookup by mode, and the geometry of small charts. */
import { SPACE } from "./format.js";
import { unpackUint16 } from "./weights.js";

/** @typedef {"off" | "draw" | "mean" | "spread"} Mode dropout off, one draw, mean and spread of all draws */
/** @typedef {{shape: number[], scale: number, values: string}} Packed */

/** Modes in the order of the switch. @type {Mode[]} */
export const MODES = ["off", "draw", "mean", "spread"];
/** Packed value of a number that does not exist. */
const MISSING = 65535;

/**
 * Turn packed integers into numbers; a missing number becomes NaN.
 * @param {Uint16Array} integers
 * @param {number} scale
 */
export const unscale = (integers, scale) =>
  Float32Array.from(integers, (integer) => (integer === MISSING ? NaN : integer / scale));

/** Unpack an array. @param {Packed} packed @returns {Promise<Float32Array>} */
export const unpack = async ({ values, scale }) => unscale(await unpackUint16(values), scale);

/** Unpack the array of each mode. @param {Record<string, Packed>} table */
const unpackModes = async (table) => Object.fromEntries(
  await Promise.all(Object.entries(table).map(async ([mode, packed]) => [mode, await unpack(packed)])),
);

/** Unpack all arrays of a role. @param {any} role */
export const unpackRole = async (role) => ({
  ...role,
  entropy: await unpackModes(role.entropy),
  weights: await unpackModes(role.weights),
  patterns: await unpackModes(role.patterns),
});

/** Unpack the neighbors of an embedding table. @param {any} table */
export const unpackTable = async (table) => ({
  ...table,
  neighbors: await unpack(table.neighbors),
  cosines: (await unpack(table.cosines)).map((value) => value - 1),
});

/**
 * Return the number of a cell of the table of sentences and heads: an entropy, or the weight at an offset.
 * @param {any} role an unpacked role
 * @param {Mode} mode
 * @param {string} measure "entropy" or "offset:N"
 * @param {number} sentence
 * @param {number} head
 * @returns {number} NaN where the sentence has no such offset
 */
export const cellValue = (role, mode, measure, sentence, head) => {
  const index = sentence * role.layers * role.heads + head;
  if (!measure.startsWith("offset:")) return role.entropy[mode][index];
  const offset = role.offsets.indexOf(Number(measure.slice(7)));
  return offset < 0 ? NaN : role.weights[mode][index * role.offsets.length + offset];
};

/**
 * Return the weights by offset of a head in a sentence.
 * @param {any} role
 * @param {Mode} mode
 * @param {number} sentence
 * @param {number} head
 */
export const profile = (role, mode, sentence, head) => {
  const count = role.offsets.length, start = (sentence * role.layers * role.heads + head) * count;
  return Array.from(role.weights[mode].subarray(start, start + count));
};

/**
 * Return the pattern of a head in a sentence; a spread has none, so it shows that without dropout.
 * @param {any} role
 * @param {Mode} mode
 * @param {number} sentence
 * @param {number} head
 */
export const patternName = (role, mode, sentence, head) =>
  role.labels[role.patterns[mode === "spread" ? "off" : mode][sentence * role.layers * role.heads + head]];

/**
 * Return the largest finite number, or `fallback` if there is none.
 * @param {Iterable<number | null>} values
 * @param {number} [fallback]
 */
export const largest = (values, fallback = 1) => {
  let max = 0;
  for (const value of values) if (value !== null && Math.abs(value) > max) max = Math.abs(value);
  return max || fallback;
};

/**
 * Return the outline of a histogram as an SVG path in a box of width × height; zero is in the middle.
 * @param {{counts: number[], largest: number}} histogram
 * @param {number} range the largest value of the axis
 * @param {number} width
 * @param {number} height
 */
export const histogramPath = ({ counts, largest: limit }, range, width, height) => {
  const peak = Math.max(...counts, 1), used = (width * Math.min(limit / range, 1)) || width, left = (width - used) / 2;
  const step = used / counts.length;
  const tops = counts.map((count, i) =>
    `L${(left + i * step).toFixed(1)} ${(height * (1 - count / peak)).toFixed(1)}h${step.toFixed(2)}`);
  return `M${left.toFixed(1)} ${height}${tops.join("")}V${height}Z`;
};

/**
 * Return the tokens that contain a text, exact matches and prefixes first.
 * @param {string[]} tokens
 * @param {string} text
 * @param {number} limit
 */
export const matchTokens = (tokens, text, limit) => {
  const wanted = text.trim().toLowerCase(), plain = (token) => token.replaceAll(SPACE, "").toLowerCase();
  const rank = (token) => (plain(token) === wanted ? 0 : plain(token).startsWith(wanted) ? 1 : 2);
  return tokens.map((token, i) => ({ token, i })).filter(({ token }) => plain(token).includes(wanted))
    .sort((a, b) => rank(a.token) - rank(b.token) || a.i - b.i).slice(0, limit).map(({ token }) => token);
};

/** Return a number with about three significant digits and a typographic minus. @param {number | null} value */
export const number = (value) => {
  if (value === null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const text = size >= 100 ? size.toFixed(0) : size >= 10 ? size.toFixed(1) : size >= 0.01 || !size ? size.toFixed(2)
    : size.toExponential(0).replace("e-", "e−");
  return value < 0 && Number(size.toPrecision(3)) ? `−${text}` : text;
};
