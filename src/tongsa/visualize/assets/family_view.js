/** State of the family page and what follows from it: the time axis, and the moment that each column shows. */
import { attentionGrid, momentAt, timeline } from "./family_data.js";
import { ENGLISH } from "./family_words_en.js";
import { KOREAN } from "./family_words_ko.js";
import { clamp } from "./format.js";

/** @typedef {import("./family_data.js").FamilyData} FamilyData */
/** @typedef {import("./family_data.js").Column} Column */
/** @typedef {import("./family_data.js").Moment} Moment */
/** @typedef {import("./family_data.js").Grid} Grid */
/** @typedef {import("./family_data.js").TimeUnit} TimeUnit */
/** @typedef {typeof ENGLISH} FamilyWords */
/** @typedef {ReturnType<typeof createView>} View */

/** @type {Record<string, FamilyWords>} */
const WORDS = { en: ENGLISH, ko: KOREAN };
const COMPACT = /** @type {const} */ ({ notation: "compact", maximumSignificantDigits: 3 });

/**
 * Return the view of the data, with the selection of an earlier visit.
 * @param {FamilyData} data
 * @param {string} language
 * @param {Record<string, string>} saved
 */
export const createView = (data, language, saved) => {
  const state = {
    language,
    timeUnit: /** @type {TimeUnit} */ (saved.align === "minutes" ? "minutes" : "steps"),
    tick: 0,
    step: Math.max(0, Number(saved.step) - 1 || 0),
    unit: /** @type {"words" | "tokens"} */ (saved.unit === "tokens" ? "tokens" : "words"),
    layer: /** @type {number | null} */ (null),
    head: /** @type {number | null} */ (null),
    /** Two times to compare, or fewer while they are chosen. */
    pins: /** @type {number[]} */ ([]),
    /** The word that is pointed at, and its row. */
    hovered: /** @type {{ word: string, row: number } | null} */ (null),
  };
  let ticks = timeline(data.columns, state.timeUnit);
  state.tick = saved.time ? clamp(Number(saved.time) - 1 || 0, 0, ticks.length - 1) : ticks.length - 1;
  const view = {
    data, state, columns: data.columns,
    get labels() { return WORDS[state.language]; },
    get ticks() { return ticks; },
    get time() { return ticks[state.tick]; },
    get isComparing() { return state.pins.length === 2; },
    /** Most layers of attention that some model has. */
    layerCount: Math.max(...data.columns.flatMap(({ moments }) =>
      moments.map(({ layers, heads }) => Math.max(layers?.length ?? 0, heads?.length ?? 0)))),
    /** Change the unit of time; the saved models are shown. @param {TimeUnit} unit */
    setTimeUnit: (unit) => {
      ticks = timeline(data.columns, unit);
      Object.assign(state, { timeUnit: unit, pins: [], tick: ticks.length - 1 });
    },
    /** @param {Column} column @param {number} [time] @returns {Moment} */
    moment: (column, time = view.time) => momentAt(column, time, state.timeUnit),
    /** @param {Column} column @param {Moment} moment @returns {Grid | null} */
    grid: (column, moment) => {
      const grid = attentionGrid(column, moment, state.unit, state.layer, state.head);
      return grid && moment.reads === "hops" ? { ...grid, queries: grid.queries.map(view.labels.hop) } : grid;
    },
    /** @param {number} time */
    timeText: (time) => {
      if (time === Infinity) return view.labels.savedModel;
      return state.timeUnit === "steps" ? view.labels.step(time) : view.labels.duration(time);
    },
    /** A large number in short: 2.45M. @param {number} value */
    count: (value) => new Intl.NumberFormat(state.language, COMPACT).format(value),
    get selection() {
      return { time: state.tick + 1, step: state.step + 1, align: state.timeUnit, unit: state.unit };
    },
  };
  return view;
};
