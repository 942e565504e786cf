/** Data of the family page: moments on a common time axis, matrices in tokens or words, what a word reads. */
import { mergeWords } from "./weights.js";

/** @typedef {{ tokens: string[], starts: number[], words: string[] }} Axis tokens, first token of each word, words */
/** @typedef {{ shape: [number, number], width: number, scale: number, values: string }} SignedMatrix */
/**
 * @typedef {object} Moment what a model answered at a moment of its training
 * @property {number | null} step null for the saved model
 * @property {number | null} seconds
 * @property {number | null} tokens
 * @property {string} output
 * @property {number} log_prob
 * @property {number} num_tokens
 * @property {"source" | "hops" | "history" | "slots" | "unweighted" | "state"} reads
 * @property {{ shape: [number, number], values: string }} [alignment]
 * @property {string[]} [layers]
 * @property {string[][]} [heads] single heads of each layer, of the saved model only
 * @property {[string, string]} [sample] of a language model: the words that it was given, and their continuation
 * @property {SignedMatrix} memory
 * @property {SignedMatrix} states
 * @property {Axis} target
 * @property {[number, number][][]} top
 */
/**
 * @typedef {object} Column one model
 * @property {string} name
 * @property {string} kind
 * @property {{ key: string, title: string, source_path: string, output_path: string }} family
 * @property {number} parameters
 * @property {number} milliseconds
 * @property {Axis} source
 * @property {Record<string, string>} vocabulary
 * @property {Moment[]} moments the saved model is the last
 * @property {string[]} probed
 * @property {{ beam: number, steps: [string, number | null, number, boolean][][], best: number[] } | null} tree
 * @property {string} command
 * @property {string} [trace] address of a trace page
 * @property {number | null} seed
 * @property {number} steps
 * @property {number} seconds
 * @property {number} tokens
 * @property {{ name: string, value: number | null, step: number } | null} score
 * @property {[number, number, number][]} loss step, seconds, loss
 * @property {[number, number, number][]} dev_loss
 */
/** @typedef {{ text: string, reference: string, task: string, columns: Column[] }} FamilyData */
/** @typedef {"steps" | "minutes"} TimeUnit */
/** @typedef {{ queries: string[], keys: string[], weights: Float32Array }} Grid */

/** Ticks closer than this share of their time are one tick: runs never take exactly the same time. */
const SAME_TIME = 0.02;

/** Return the time of a moment; the saved model comes last. @param {Moment} moment @param {TimeUnit} unit */
export const timeOf = (moment, unit) => {
  if (moment.step === null) return Infinity;
  return unit === "steps" ? moment.step : /** @type {number} */ (moment.seconds);
};

/**
 * Return the times at which some model was probed, in order; the last is Infinity, for the saved models.
 * @param {Column[]} columns
 * @param {TimeUnit} unit
 * @returns {number[]}
 */
export const timeline = (columns, unit) => {
  const times = columns.flatMap(({ moments }) => moments.map((moment) => timeOf(moment, unit))).sort((a, b) => a - b);
  /** @type {number[]} */
  const ticks = [];
  for (const time of times) {
    const last = ticks[ticks.length - 1] ?? -1;
    const isClose = unit === "minutes" && last > 0 && time < last * (1 + SAME_TIME);
    if (time === last || isClose) ticks[ticks.length - 1] = time;
    else ticks.push(time);
  }
  return ticks;
};

/**
 * Return the last moment of a model that is not after a time.
 * @param {Column} column
 * @param {number} time
 * @param {TimeUnit} unit
 */
export const momentAt = ({ moments }, time, unit) => {
  const past = moments.filter((moment) => timeOf(moment, unit) <= time);
  return past[past.length - 1] ?? moments[0];
};

/**
 * Return at most `count` evenly spaced items, the first and the last among them.
 * @template T
 * @param {T[]} items
 * @param {number} count
 */
export const spread = (items, count) => {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))]);
};

/** @param {string} text base64 */
export const decodeBytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
/** @param {string} text base64 of numbers from 0 to 255 */
const decodeFractions = (text) => Float32Array.from(decodeBytes(text), (byte) => byte / 255);
/** Return the values of a packed matrix from −1 to 1, to be multiplied by its scale. @param {SignedMatrix} matrix */
export const decodeSigned = (matrix) => Float32Array.from(decodeBytes(matrix.values), (byte) => (byte - 128) / 127);

/** @param {string[]} tokens @returns {Axis} */
const plainAxis = (tokens) => ({ tokens, starts: tokens.map((_, i) => i), words: tokens });

/**
 * Return the queries and the keys of a moment's attention.
 * @param {Column} column
 * @param {Moment} moment
 * @returns {[Axis, Axis]}
 */
const axesOf = (column, moment) => {
  if (moment.reads === "hops") {
    return [plainAxis(Array.from({ length: moment.alignment?.shape[0] ?? 0 }, (_, i) => String(i + 1))), column.source];
  }
  if (moment.reads !== "history") return [moment.target, column.source];
  return [plainAxis(moment.target.tokens), plainAxis(["<s>", ...moment.target.tokens.slice(0, -1)])];
};

/**
 * Return the packed weights of a layer or a head; undefined if they were not stored.
 * @param {Moment} moment
 * @param {number | null} layer null: the only layer of a model
 * @param {number | null} head null: the mean of all heads
 */
export const storedWeights = ({ layers, heads }, layer, head) => {
  if (head === null) return layers?.[layer ?? -1];
  return heads?.[layer ?? (heads.length === 1 ? 0 : -1)]?.[head];
};

/**
 * Return the attention of a moment; null for a model without attention.
 * @param {Column} column
 * @param {Moment} moment
 * @param {"words" | "tokens"} unit
 * @param {number | null} [layer] null: the mean of all layers, also if the layer was not stored
 * @param {number | null} [head] null: the mean of all heads, also if the head was not stored
 * @returns {Grid | null}
 */
export const attentionGrid = (column, moment, unit, layer = null, head = null) => {
  if (!moment.alignment) return null;
  const packed =
    storedWeights(moment, layer, head) ?? storedWeights(moment, layer, null) ?? moment.alignment.values;
  const weights = decodeFractions(packed), [queries, keys] = axesOf(column, moment);
  if (unit === "tokens") return { queries: queries.tokens, keys: keys.tokens, weights };
  const starts = { query_starts: queries.starts, key_starts: keys.starts };
  const merged = mergeWords(weights, queries.tokens.length, keys.tokens.length, starts);
  return { queries: queries.words, keys: keys.words, weights: merged };
};

/**
 * Return after − before on the words or tokens of both; a query that only one output has counts as 0 in the other.
 * @param {Grid} before
 * @param {Grid} after
 * @returns {Grid}
 */
export const difference = (before, after) => {
  const width = after.keys.length, weights = Float32Array.from(after.weights);
  after.queries.forEach((query, row) => {
    const earlier = before.queries[row] === query ? row : before.queries.indexOf(query);
    if (earlier < 0 || before.keys.length !== width) return;
    for (let i = 0; i < width; i++) weights[row * width + i] -= before.weights[earlier * width + i];
  });
  return { ...after, weights };
};

/**
 * Return the row of a word in a grid: the same word, nearest to a position; −1 if there is none.
 * @param {Grid} grid
 * @param {string} word
 * @param {number} near
 */
export const rowOf = (grid, word, near) => {
  const rows = grid.queries.flatMap((query, i) => (query === word ? [i] : []));
  return rows.reduce((best, row) => (best < 0 || Math.abs(row - near) < Math.abs(best - near) ? row : best), -1);
};

/**
 * Return the keys that a row reads most, largest first.
 * @param {Grid} grid
 * @param {number} row
 * @param {number} count
 * @returns {[string, number][]}
 */
export const reading = ({ keys, weights }, row, count) => {
  const rowWeights = Array.from(weights.subarray(row * keys.length, (row + 1) * keys.length));
  const order = rowWeights.map((_, i) => i).sort((a, b) => rowWeights[b] - rowWeights[a]);
  return order.slice(0, count).map((i) => [keys[i], rowWeights[i]]);
};

/** Return the index of the word that contains a token. @param {Axis} axis @param {number} token */
export const wordOfToken = ({ starts }, token) => starts.findLastIndex((start) => start <= token);
