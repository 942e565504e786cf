/** Data of the corpus report: bins of a histogram, the position of a cut, changes of a repair. Pure functions. */

/** @typedef {{ edges: number[], counts: number[] }} Histogram */
/** @typedef {{ name: string, count: number }} NamedCount */
/** @typedef {{ file: string, line: number, source: string, target: string, detail: string }} DroppedSample */
/** @typedef {{ file: string, line: number, side: string, before: string, after: string }} RepairSample */
/**
 * @typedef {object} FilterReport
 * @property {string} name
 * @property {number} dropped
 * @property {number} alone
 * @property {number} pairs_per_second
 * @property {number | null} low
 * @property {number | null} high
 * @property {boolean} learnt
 * @property {Histogram | null} histogram
 * @property {DroppedSample[]} samples
 */
/** @typedef {{ name: string, count: number, samples: RepairSample[] }} RepairReport */
/** @typedef {{ file: string, first_line: number, last_line: number, shift: number }} MisalignedBlock */
/** @typedef {[number | null, number | null]} Limits */
/**
 * @typedef {object} AblationRow a training without some filters, against the one with all
 * @property {string} kind all, none or without
 * @property {string} filter that is left out
 * @property {number} pairs
 * @property {import("./compare_data.js").Score} score
 * @property {number | null} difference from the training with all filters
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} p
 * @property {string} verdict about this row: better, worse, disagree, none; "" for all filters
 */
/** @typedef {{ metric: string, sentences: number, split: string, budget: string, seeds: number, rows: AblationRow[] }} Ablation */
/**
 * @typedef {object} CorpusReport
 * @property {string[]} files
 * @property {[string, string]} languages
 * @property {number} read
 * @property {number} kept
 * @property {number} dropped
 * @property {number} repaired
 * @property {number} seconds
 * @property {NamedCount[]} unusable
 * @property {FilterReport[]} filters
 * @property {RepairReport[]} repairs
 * @property {[Histogram, Histogram]} source_lengths of kept and of dropped pairs
 * @property {[Histogram, Histogram]} target_lengths
 * @property {[Histogram, Histogram]} ratios
 * @property {Limits} source_length_limits
 * @property {Limits} target_length_limits
 * @property {[string, string]} length_units
 * @property {[NamedCount[], NamedCount[]]} scripts
 * @property {[NamedCount[], NamedCount[]]} languages_found
 * @property {{ source: string, target: string, count: number }[]} duplicates
 * @property {MisalignedBlock[]} blocks
 * @property {Ablation | null} ablation
 */

/** Return the sum of numbers. @param {number[]} values */
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Return a count with separators. @param {number} value */
export const count = (value) => value.toLocaleString("en");

/** Return a share of a whole in percent; a small share is not 0 %. @param {number} part @param {number} whole */
export const share = (part, whole) => {
  const percentage = whole ? (100 * part) / whole : 0;
  if (!part) return "0 %";
  return percentage < 0.1 ? "< 0.1 %" : `${percentage.toFixed(1)} %`;
};

/** Return a speed with two digits that matter: 1,200,000 or 34. @param {number} value */
export const speed = (value) => (value ? count(Number(value.toPrecision(2))) : "–");

/**
 * Return the position of a value among the edges, in bins from the left; it stays inside.
 * @param {number[]} edges
 * @param {number} value
 */
export const positionOf = (edges, value) => {
  const last = edges.length - 1;
  if (value <= edges[0]) return 0;
  if (value >= edges[last]) return last;
  const bin = edges.findIndex((edge) => edge > value) - 1;
  return bin + (value - edges[bin]) / (edges[bin + 1] - edges[bin]);
};

/**
 * Return where the cut of a largest value is drawn: after the bin of a whole number, which is kept.
 * @param {number[]} edges
 * @param {number} high
 */
export const highPosition = (edges, high) => {
  const position = positionOf(edges, high), bin = Math.floor(position);
  const isCount = Number.isInteger(high) && edges[bin + 1] - edges[bin] === 1;
  return isCount ? bin + 1 : position;
};

/**
 * Return the bins to draw: from the first to the last that has pairs, or that a cut touches.
 * @param {number[][]} layers counts of each layer
 * @param {(number | null)[]} cuts positions
 * @returns {[number, number]} first bin, and the bin after the last
 */
export const shownBins = (layers, cuts) => {
  const totals = (layers[0] ?? []).map((_, i) => sum(layers.map((counts) => counts[i])));
  const used = totals.flatMap((total, i) => (total ? [i] : []));
  if (!used.length) return [0, totals.length];
  const positions = cuts.flatMap((cut) => (cut === null ? [] : [cut]));
  const first = Math.min(used[0], ...positions.map((cut) => Math.floor(cut)));
  const last = Math.max(used[used.length - 1] + 1, ...positions.map((cut) => Math.ceil(cut)));
  return [Math.max(0, first), Math.min(totals.length, last)];
};

/** Return the ratio of a power of two as text: 1/4, 1, 2.8. @param {number} exponent */
export const ratioText = (exponent) => {
  const ratio = 2 ** Math.abs(exponent), text = String(Number(ratio.toPrecision(2)));
  return exponent < 0 && text !== "1" ? `1/${text}` : text;
};

/** Return the label of an edge on an axis of ratios: powers of two only. @param {number} exponent */
export const ratioLabel = (exponent) => (Number.isInteger(Math.round(exponent * 1e6) / 1e6) ? ratioText(Math.round(exponent)) : "");

/** Return the name of a file, without its folders if no other file has that name. @param {string[]} files @param {string} file */
export const shortName = (files, file) => {
  const base = (path) => path.split(/[\\/]/u).pop() ?? path;
  return files.filter((other) => base(other) === base(file)).length > 1 ? file : base(file);
};

/** Characters that nobody sees, and those that change the order of others. */
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/gu; // eslint-disable-line no-control-regex

/** Return a text in which invisible characters have their number. @param {string} text */
export const visible = (text) => text.replace(INVISIBLE, (character) =>
  `⟨${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/**
 * Return two texts as the same beginning, the parts that differ, and the same end.
 * @param {string} before
 * @param {string} after
 * @returns {{ start: string, before: string, after: string, end: string }}
 */
export const changedPart = (before, after) => {
  const a = Array.from(before), b = Array.from(after), shorter = Math.min(a.length, b.length);
  let start = 0, end = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  return {
    start: a.slice(0, start).join(""), before: a.slice(start, a.length - end).join(""),
    after: b.slice(start, b.length - end).join(""), end: a.slice(a.length - end).join(""),
  };
};

/** Return the parts of all records: kept, dropped by filters, unusable. @param {CorpusReport} report */
export const partsOf = ({ kept, dropped, unusable }) => {
  const unread = sum(unusable.map((reason) => reason.count));
  return { kept, filtered: dropped - unread, unusable: unread };
};
