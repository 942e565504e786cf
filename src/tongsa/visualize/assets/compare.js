/** Comparison page: systems by metrics with intervals, all pairs in words, settings, curves, cost, slices, sentences. */
import { curvesSection, UNITS } from "./compare_curves.js";
import { ranking } from "./compare_data.js";
import { metricTitle, pairsSection, scoresSection, summaryOf } from "./compare_scores.js";
import { ngramsSection, ORDERS, sentencesSection } from "./compare_sentences.js";
import { costSection, settingsSection, slicesSection, traitsSection } from "./compare_tables.js";
import { english } from "./compare_words_en.js";
import { korean } from "./compare_words_ko.js";
import { make } from "./dom.js";
import { choice } from "./inspect_markup.js";

/** @typedef {import("./compare_data.js").ComparisonData} ComparisonData */
/**
 * Choices of the user.
 * @typedef {object} State
 * @property {string} metric
 * @property {import("./compare_curves.js").TimeUnit} unit
 * @property {number} a system
 * @property {number} b system
 * @property {import("./compare_data.js").Order} order
 */
/** @typedef {{ data: ComparisonData, words: any, state: State }} View what the sections draw */
/** @typedef {(view: View, signal: AbortSignal) => Node[]} DrawSection */

/**
 * Return the saved choices that are valid for this data.
 * @param {ComparisonData} data
 * @param {Record<string, string>} saved
 * @returns {State}
 */
export const initialState = (data, saved) => {
  const choose = (options, value) => (options.includes(value) ? value : options[0]);
  const metric = choose(data.metrics.map(({ name }) => name), saved.metric);
  const best = ranking(data.metrics.find(({ name }) => name === metric) ?? data.metrics[0]);
  /** Return a saved system, or the first run of the setting with this rank. */
  const system = (value, rank) => {
    const index = Number.parseInt(value ?? "", 10) - 1;
    if (index >= 0 && index < data.systems.length) return index;
    return best.length > 1 ? data.settings[best[rank]].systems[0] : rank;
  };
  return {
    metric,
    unit: choose(Object.keys(UNITS), saved.unit),
    a: system(saved.a, 0),
    b: system(saved.b, 1),
    order: choose(ORDERS, saved.order),
  };
};

/**
 * Sections in their order: the choices that each depends on, whether the data has it, and its drawing.
 * @type {Record<string, { depends: string[], exists: (data: ComparisonData) => boolean, draw: DrawSection }>}
 */
const SECTIONS = {
  scores: { depends: ["metric"], exists: () => true, draw: scoresSection },
  pairs: { depends: ["metric"], exists: ({ settings }) => settings.length > 1, draw: pairsSection },
  settings: { depends: [], exists: ({ systems }) => systems.some(({ origin }) => origin !== "outputs"), draw: settingsSection },
  curves: { depends: ["unit"], exists: ({ curves }) => curves.length > 0, draw: curvesSection },
  cost: { depends: [], exists: ({ systems }) => systems.some(({ origin }) => origin !== "outputs"), draw: costSection },
  slices: { depends: ["metric"], exists: ({ slices }) => slices.length > 0, draw: slicesSection },
  traits: { depends: [], exists: ({ traits }) => traits.rows.length > 0, draw: traitsSection },
  sentences: { depends: ["a", "b", "order"], exists: ({ sentences, systems }) => sentences.rows.length > 0 && systems.length > 1, draw: sentencesSection },
  ngrams: { depends: ["a", "b"], exists: ({ ngrams }) => ngrams.length > 0, draw: ngramsSection },
};

/** Buttons of which one is pressed. @param {string} label @param {[string, string][]} options @param {string} current @param {(value: string) => void} onChange */
const switchOf = (label, options, current, onChange) => make("div", { class: "switch", role: "group", "aria-label": label },
  ...options.map(([value, text]) => make("button", {
    type: "button", "data-value": value, "aria-pressed": value === current, text, click: () => onChange(value),
  })));

/**
 * Controls of a section: they stay while its content is drawn again.
 * @param {View} view
 * @param {(choices: Partial<State>) => void} set
 * @param {AbortSignal} signal
 * @returns {Record<string, Node[]>}
 */
const controlsOf = ({ data, words, state }, set, signal) => {
  /** @type {[string, string][]} */
  const metrics = data.metrics.map(({ name }) => [name, metricTitle(words, name)]);
  /** @type {[string, string][]} */
  const systems = data.systems.map(({ name }, i) => [String(i), name]);
  return {
    scores: metrics.length > 1 ? [switchOf(words.metric, metrics, state.metric, (metric) => set({ metric }))] : [],
    curves: [switchOf(words.timeUnit, Object.keys(UNITS).map((unit) => [unit, words.units[unit]]), state.unit,
      (unit) => set({ unit: /** @type {State["unit"]} */ (unit) }))],
    sentences: [
      choice(words.first, systems, String(state.a), (a) => set({ a: Number(a) }), signal),
      choice(words.second, systems, String(state.b), (b) => set({ b: Number(b) }), signal),
      choice(words.order, ORDERS.map((order) => [order, words.orders[order]]), state.order,
        (order) => set({ order: /** @type {State["order"]} */ (order) }), signal),
    ],
  };
};

/** Remarks about the test set and the systems. @param {View} view */
const remarksOf = ({ data, words }) => (data.remarks.length
  ? [make("ul", { class: "remarks" }, ...data.remarks.map((remark) => make("li", { text: words.remarks[remark.code](remark) })))] : []);

/**
 * Draw into `root` the data of tongsa.visualize.comparison.
 * @param {ShadowRoot | HTMLElement} root
 * @param {ComparisonData} data
 * @param {import("./view_words.js").PanelOptions} [options]
 * @returns {import("./view_words.js").Panel}
 */
export const draw = (root, data, { language = "en", saved = {}, onChange = () => {}, signal } = {}) => {
  const host = make("div", { class: "compare" }), controllers = new Map();
  root.append(host);
  /** @type {View} */
  const view = { data, words: english, state: initialState(data, saved) };
  const names = Object.keys(SECTIONS).filter((name) => SECTIONS[name].exists(data));
  const content = (name) => {
    controllers.get(name)?.abort(); // observers of the content that is replaced
    controllers.set(name, new AbortController());
    return SECTIONS[name].draw(view, controllers.get(name).signal);
  };
  /** @param {Partial<State>} choices */
  const set = (choices) => {
    Object.assign(view.state, choices);
    host.querySelector(".summary")?.replaceWith(summaryOf(view));
    for (const name of names) {
      const isChanged = SECTIONS[name].depends.some((key) => key in choices), section = host.querySelector(`#${name}`);
      if (isChanged) section?.querySelector(".content")?.replaceChildren(...content(name));
      for (const button of section?.querySelectorAll(".switch button") ?? []) {
        const { value } = /** @type {HTMLElement} */ (button).dataset;
        button.setAttribute("aria-pressed", String(value === view.state.metric || value === view.state.unit));
      }
    }
    const { metric, unit, a, b, order } = view.state;
    onChange({ metric, unit, a: a + 1, b: b + 1, order });
  };
  const render = () => {
    const { words } = view, controls = controlsOf(view, set, signal ?? new AbortController().signal);
    host.replaceChildren(summaryOf(view), ...remarksOf(view), make("nav", { "aria-label": words.contents },
      ...names.map((name) => make("button", { type: "button", class: "plain", text: words[name], click: () => {
        host.querySelector(`#${name}`)?.scrollIntoView();
        /** @type {HTMLElement | null} */ (host.querySelector(`#${name} h2`))?.focus({ preventScroll: true });
      } }))),
    ...names.map((name) => make("section", { id: name },
      make("h2", { tabindex: -1, text: words[name] }),
      ...(controls[name]?.length ? [make("div", { class: "controls" }, ...controls[name])] : []),
      make("div", { class: "content" }, ...content(name)))));
  };
  const setLanguage = (next) => {
    view.words = next === "ko" ? korean : english;
    render();
  };
  setLanguage(language);
  signal?.addEventListener("abort", () => controllers.forEach((controller) => controller.abort()));
  return { setLanguage, setSentence: () => {} }; // the page shows many sentences
};
