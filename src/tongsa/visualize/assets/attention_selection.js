/** What the attention panel shows: the chosen sentence, role, layer and head, and what follows from them. */
import { clamp } from "./format.js";
import { columnCount, headTitle } from "./head_text.js";
import { WORDS } from "./view_words.js";
import { attentionMask, headWeights, maxWeight } from "./weights.js";

/** @typedef {import("./types.d.ts").AttentionResponse} AttentionResponse */
/** @typedef {ReturnType<typeof attentionSelection>} Selection */

/** Switch → its values. */
export const OPTIONS = { unit: ["tokens", "words"], view: ["heatmap", "lines"], scale: ["fixedScale", "maxScale"] };
/** With more keys than this, colors fit the maximum. */
const MANY_KEYS = 24;
const ALL_KEYS = { score: null, before: null, after: null };

/** The selection of an earlier visit; numbers count from 1. @param {Record<string, string>} saved */
const restored = (saved) => ({
  ...Object.fromEntries(["layer", "head"].map((key) => [key, (parseInt(saved[key], 10) || 1) - 1])),
  ...Object.fromEntries(
    Object.entries(OPTIONS).flatMap(([key, values]) => (values.includes(saved[key]) ? [[key, saved[key]]] : [])),
  ),
  role: saved.role || "",
});

/**
 * @param {AttentionResponse} data
 * @param {string} language
 * @param {number} sentence
 * @param {Record<string, string>} saved
 */
export const attentionSelection = (data, language, sentence, saved) => {
  /** `scale` is null until the reader chooses one. @type {any} */
  const state = { example: sentence, unit: "tokens", view: "heatmap", scale: null, language, ...restored(saved) };
  const words = () => WORDS[state.language].attention,
    example = () => data.examples[state.example],
    role = () => /** @type {any} */ (example().roles.find(({ role: name }) => name === state.role)),
    mechanism = () => data.mechanisms[state.role] ?? ALL_KEYS,
    layers = () => role().layers;
  const scale = () => state.scale ?? (role().tokens.keys.length > MANY_KEYS ? "maxScale" : "fixedScale");
  const readsHops = () =>
    state.role === "cross" &&
    example().roles.some(({ role: name }) => name === "hops") &&
    role().tokens.keys.every((key, i) => key === String(i + 1));
  /** Labels of rows and columns: hops are numbered. */
  const grid = () => {
    const { queries, keys, summaries } = role()[state.unit],
      hops = (labels) => labels.map((_, i) => words().hop(i + 1));
    const rows = state.role === "hops" ? hops(queries) : queries;
    return { rows, columns: readsHops() ? hops(keys) : keys, summaries };
  };
  /** Pattern of a head, and in how many sentences it has it. */
  const nameOf = (layer, head) => {
    const { pattern } = grid().summaries[layer][head];
    return data.head_names[state.role]?.[state.unit]?.[layer]?.[head] ?? { pattern, count: 1, sentences: 1 };
  };
  /** Make the selection valid for the sentence. */
  const clampSelection = () => {
    state.example = clamp(state.example || 0, 0, data.examples.length - 1);
    const { roles } = example();
    if (!roles.length) return;
    if (!roles.some(({ role: name }) => name === state.role)) state.role = roles[0].role;
    state.layer = clamp(state.layer || 0, 0, layers().length - 1);
    state.head = clamp(state.head || 0, 0, columnCount(layers()[state.layer].count) - 1);
  };
  return {
    data,
    state,
    words,
    example,
    mechanism,
    layers,
    scale,
    readsHops,
    grid,
    nameOf,
    clampSelection,
    columns: () => Math.max(...layers().map((layer) => columnCount(layer.count))),
    colorMax: (weights) => (scale() === "fixedScale" ? 1 : maxWeight(weights) || 1),
    weightsOf: (layer, head) => headWeights(role(), layer, head, state.unit, data.quantization_scale),
    mask: () => attentionMask(role().tokens, state.unit === "words" ? role().words : null, mechanism()),
    title: (layer, head) => headTitle(words(), mechanism().score, layers()[layer].count, layer, head),
    /** Id of the selected head's thumbnail. */
    headId: () => `head-${state.layer}-${state.head}`,
    /** What the address keeps. */
    saved: () => {
      const { role: name, unit, view, layer, head } = state;
      return { role: name, unit, view, scale: state.scale ?? "", layer: layer + 1, head: head + 1 };
    },
  };
};
