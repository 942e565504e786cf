/** Data of the comparison page: pairs of settings, verdicts, orders, numbers as text. Pure functions. */
import { signed } from "./format.js";

/** @typedef {{ value: number | null, low: number | null, high: number | null }} Estimate with a 95 % interval */
/** @typedef {Estimate & { runs: (number | null)[] }} Score mean of a setting's runs, and each of them */
/** @typedef {"better" | "worse" | "disagree" | "none"} Verdict */
/**
 * @typedef {object} Pair test of two settings
 * @property {number} a
 * @property {number} b
 * @property {number} difference first minus second
 * @property {number | null} low
 * @property {number | null} high
 * @property {number} p_bootstrap corrected for all pairs
 * @property {number} p_randomization
 * @property {Verdict} verdict about the first
 * @property {number | null} people percentage of such pairs whose order people confirm
 * @property {[number, number]} seeds number of runs
 * @property {boolean} covers_seeds
 */
/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} signature
 * @property {boolean} lower_is_better
 * @property {number} sentences
 * @property {number | null} detectable
 * @property {Score[]} scores of each setting
 * @property {Pair[]} pairs
 */
/** @typedef {{ name: string, systems: number[] }} Setting runs that differ only in their seed */
/**
 * @typedef {object} System
 * @property {string} name
 * @property {string} path
 * @property {"run" | "model" | "outputs"} origin
 * @property {string} kind
 * @property {number | null} seed
 * @property {number | null} parameters
 * @property {number | null} size_bytes
 * @property {number | null} steps
 * @property {number | null} tokens
 * @property {number | null} seconds of training
 * @property {number | null} memory_bytes
 * @property {string} decoding
 * @property {number | null} sentences_per_second
 */
/** @typedef {{ system: number, points: [number, number, number, number][] }} CurveLine step, tokens, seconds, value */
/** @typedef {{ name: string, lines: CurveLine[] }} CurvePanel */
/** @typedef {{ label: string, count: number }} Bin */
/**
 * @typedef {object} Slice one score of each setting by a property of sentences or words
 * @property {string} by
 * @property {string} metric
 * @property {string} unit of the counts
 * @property {string} [of] run whose training data was counted
 * @property {Bin[]} bins
 * @property {(Estimate | null)[][]} lines of each setting
 */
/**
 * @typedef {object} Sentence
 * @property {number} line in the test file
 * @property {string} source
 * @property {string} reference
 * @property {string[]} outputs of each system
 * @property {(number | null)[]} scores of each system
 * @property {{ file: string, systems: number[] } | null} view page of the sentence, and the models on it
 */
/** @typedef {{ text: string, a: number, b: number, references: number }} Ngram occurrences */
/**
 * @typedef {object} ComparisonData
 * @property {{ files: string[], sentences: number, lines: number, languages: [string, string], spaced: boolean }} test
 * @property {string} task
 * @property {Metric[]} metrics
 * @property {Setting[]} settings
 * @property {System[]} systems
 * @property {{ keys: string[], rows: string[][] }} differences
 * @property {CurvePanel[]} curves
 * @property {Slice[]} slices
 * @property {{ references: Record<string, Estimate>, rows: Record<string, Estimate>[] }} traits
 * @property {{ metric: string, lower_is_better: boolean, of: number, rows: Sentence[] }} sentences
 * @property {{ a: number, b: number, only_a: Ngram[], only_b: Ngram[] }[]} ngrams
 * @property {{ code: string, [value: string]: any }[]} remarks
 */

/** @type {Record<Verdict, Verdict>} */
const MIRRORED = { better: "worse", worse: "better", disagree: "disagree", none: "none" };
const negate = (value) => (value === null ? null : -value);

/**
 * Return the test of a setting against another, from the side of the first; null for the same setting.
 * @param {Metric} metric
 * @param {number} first
 * @param {number} second
 * @returns {Pair | null}
 */
export const pairOf = (metric, first, second) => {
  const pair = metric.pairs.find(({ a, b }) => (a === first && b === second) || (a === second && b === first));
  if (!pair || pair.a === first) return pair ?? null;
  const { seeds: [seedsA, seedsB] } = pair;
  return {
    ...pair, a: first, b: second, difference: -pair.difference, low: negate(pair.high), high: negate(pair.low),
    verdict: MIRRORED[pair.verdict], seeds: [seedsB, seedsA],
  };
};

/** Return the setting of a system. @param {ComparisonData} data @param {number} system */
export const settingOf = ({ settings }, system) => settings.findIndex(({ systems }) => systems.includes(system));

/** Return the indices of the settings, best score first. @param {Metric} metric @returns {number[]} */
export const ranking = ({ scores, lower_is_better: isLower }) => {
  const key = (i) => (isLower ? 1 : -1) * (scores[i].value ?? (isLower ? Infinity : -Infinity));
  return scores.map((_, i) => i).sort((i, j) => key(i) - key(j));
};

/**
 * Return the settings that no other one is better than.
 * @param {Metric} metric
 * @returns {number[]}
 */
export const unbeaten = (metric) => ranking(metric).filter((i) =>
  metric.scores.every((_, j) => pairOf(metric, i, j)?.verdict !== "worse"));

/** Return a number with a typographic minus, never "−0.00"; – for none. @param {number | null} value */
export const number = (value, digits = 2) => (value === null ? "–" : signed(value, digits));

/** Return a difference with its sign. @param {number} value @param {number} [digits] */
export const signedNumber = (value, digits = 2) => {
  const text = number(value, digits);
  return Number(value.toFixed(digits)) > 0 ? `+${text}` : text;
};

/**
 * Return the interval of an estimate, or "" if there is none; numbers below 10, such as perplexities, with two decimals.
 * @param {{ low: number | null, high: number | null }} range
 */
export const intervalText = ({ low, high }, digits = high !== null && high < 10 ? 2 : 1) =>
  (low === null || high === null ? "" : `${number(low, digits)} … ${number(high, digits)}`);

/** Return "p = 0.012" or "p < 0.001". @param {number} value */
export const pValue = (value) => (value < 0.001 ? "p < 0.001" : `p = ${value.toFixed(3)}`);

/** Return a large number with a unit: 1.2 M. @param {number | null} value */
export const compact = (value) => {
  if (value === null) return "–";
  for (const [size, unit] of /** @type {[number, string][]} */ ([[1e9, "G"], [1e6, "M"], [1e3, "k"]])) {
    if (value >= 0.9995 * size) return `${(value / size).toFixed(value >= 100 * size ? 0 : 1)} ${unit}`;
  }
  return value.toFixed(value < 10 && value % 1 ? 1 : 0);
};

/** @typedef {"difference" | "better-a" | "better-b" | "line" | "length"} Order */

/**
 * Return the sentences in which two systems differ, in an order. Differences are positive where the first is better.
 * @param {ComparisonData["sentences"]} sentences
 * @param {number} a
 * @param {number} b
 * @param {Order} order
 * @returns {{ sentence: Sentence, difference: number }[]}
 */
export const orderedSentences = ({ rows, lower_is_better: isLower }, a, b, order) => {
  const sign = isLower ? -1 : 1;
  const differing = rows.flatMap((sentence) => {
    const [first, second] = [sentence.scores[a], sentence.scores[b]];
    if (first === null || second === null || sentence.outputs[a] === sentence.outputs[b]) return [];
    return [{ sentence, difference: sign * (first - second) }];
  });
  /** @type {Record<Order, (row: { sentence: Sentence, difference: number }) => number>} */
  const keys = {
    difference: (row) => -Math.abs(row.difference),
    "better-a": (row) => -row.difference,
    "better-b": (row) => row.difference,
    line: (row) => row.sentence.line,
    length: (row) => -row.sentence.source.length,
  };
  const kept = differing.filter(({ difference }) =>
    (order === "better-a" ? difference > 0 : order === "better-b" ? difference < 0 : true));
  return kept.sort((x, y) => keys[order](x) - keys[order](y) || x.sentence.line - y.sentence.line);
};

/**
 * Return the n-grams that only one of two systems writes.
 * @param {ComparisonData} data
 * @param {number} a
 * @param {number} b
 */
export const ngramsOf = ({ ngrams }, a, b) => {
  const pair = ngrams.find((item) => (item.a === a && item.b === b) || (item.a === b && item.b === a));
  if (!pair) return null;
  return pair.a === a ? [pair.only_a, pair.only_b] : [pair.only_b, pair.only_a];
};
