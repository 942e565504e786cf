/** Inspection page: models side by side over many sentences. Heads, dropout, hidden states, weights, embeddings. */
import { make, onThemeChange } from "./dom.js";
import { MODES, number, unpackRole, unpackTable } from "./inspect_data.js";
import { embeddingsOf, listedTokens, tokenSearch } from "./inspect_embeddings.js";
import { allRoles, headsOf, measures } from "./inspect_heads.js";
import { choice, columnHeader, dataTable, rowHeader, runName, scrollRegion } from "./inspect_markup.js";
import { statesMax, statesOf } from "./inspect_states.js";
import { symbolRanges, weightsOf } from "./inspect_weights.js";
import { english } from "./inspect_words_en.js";
import { korean } from "./inspect_words_ko.js";
import { unpackJson } from "./trace_tensor.js";

/**
 * Choices of the user.
 * @typedef {object} State
 * @property {import("./inspect_data.js").Mode} mode
 * @property {string} role kind of attention
 * @property {string} measure what the cells of the heads show
 * @property {string} statistic of the hidden states
 * @property {string} token whose neighbors are shown
 */
/**
 * What the sections draw.
 * @typedef {object} View
 * @property {any} data the data of tongsa.visualize.inspection, arrays unpacked
 * @property {any} words
 * @property {import("./view_words.js").Language} language
 * @property {State} state
 */
/** @typedef {(choices: Partial<State>) => void} SetState */

const unpackRun = async (run) => ({
  ...run,
  roles: await Promise.all(run.roles.map(unpackRole)),
  embeddings: await Promise.all(run.embeddings.map(unpackTable)),
});

/** Return the data with all arrays unpacked; as a whole it may be packed, too. @param {any} packed */
const unpackData = async (packed) => {
  const data = packed.packed ? await unpackJson(packed) : packed;
  return { ...data, runs: await Promise.all(data.runs.map(unpackRun)) };
};

/** Return the saved choices that are valid for this data. @param {any} data @param {Record<string, string>} saved */
const initialState = (data, saved) => {
  const choose = (options, value) => (options.includes(value) ? value : options[0]);
  const tokens = listedTokens(data), firstWord = tokens.find((token) => /^▁?\p{L}{2,}$/u.test(token));
  return {
    mode: choose(MODES, saved.mode),
    role: choose(allRoles(data), saved.role) ?? "",
    measure: saved.measure ?? "entropy",
    statistic: choose(["norm", ...data.statistics], saved.statistic),
    token: tokens.includes(saved.token) ? saved.token : firstWord ?? tokens[0] ?? "",
  };
};

/** The switch of dropout. @param {View} view @param {(mode: import("./inspect_data.js").Mode) => void} onChange */
const modeSwitch = ({ data, words, state }, onChange) => {
  const text = (mode) => (typeof words[mode] === "function" ? words[mode](data.draws) : words[mode]);
  const buttons = MODES.map((mode) => make("button", {
    type: "button", id: `mode-${mode}`, "aria-pressed": mode === state.mode, text: text(mode),
    click: () => onChange(mode),
  }));
  const group = { class: "switch", role: "group", "aria-label": words.dropout };
  return make("div", { class: "modes" }, make("div", group, make("b", { text: words.dropout }), ...buttons),
    make("p", { class: "quiet small", text: words.modeHelp[state.mode] }));
};

/** Properties of all models; columns are models. @param {View} view */
const modelTable = ({ data, words, state }) => {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  /** @type {[string, (run: any) => string][]} */
  const rows = [
    [words.kind, (run) => run.kind],
    [words.parameters, (run) => run.parameters.toLocaleString("en")],
    [words.rates, ({ dropout }) => (dropout.some(Boolean) ? dropout.join(", ") : words.noDropout)],
    [words.meanLogProb, (run) => number(mean(run.log_probs[state.mode]))],
  ];
  const headers = [words.name, ...data.runs.map(runName)].map((text) => columnHeader(text));
  const cells = (value) => data.runs.map((run) => make("td", { text: value(run) }));
  const row = ([label, value]) => make("tr", {}, rowHeader(label), ...cells(value));
  return scrollRegion(words.models, dataTable({ class: "models" }, headers, rows.map(row)));
};

/**
 * A section with one column for each model.
 * @param {View} view
 * @param {string} name
 * @param {Node[]} controls
 * @param {(run: any) => Node} drawRun
 */
const section = ({ data, words }, name, controls, drawRun) => {
  const title = (run) => (data.runs.length > 1 ? [make("h3", { text: runName(run) })] : []);
  return make("section", { id: name, "aria-label": words[name] },
    make("h2", { text: words[name] }),
    make("p", { class: "quiet help", text: words.help[name] }),
    make("div", { class: "controls" }, ...controls),
    make("div", { class: "runs" }, ...data.runs.map((run) => make("article", {}, ...title(run), drawRun(run)))));
};

/** @param {View} view @param {SetState} set @param {AbortSignal} signal */
const headsSection = (view, set, signal) => {
  const { data, words, state } = view, options = measures(view);
  /** @type {[string, string][]} */
  const roles = allRoles(data).map((role) => [role, words[role]]);
  if (!options.some(([value]) => value === state.measure)) state.measure = "entropy";
  const controls = roles.length ? [
    choice(words.role, roles, state.role, (role) => set({ role }), signal),
    choice(words.measure, options, state.measure, (measure) => set({ measure }), signal),
  ] : [];
  return section(view, "heads", controls, (run) => headsOf(view, run, signal));
};

/** @param {View} view @param {SetState} set @param {AbortSignal} signal */
const statesSection = (view, set, signal) => {
  const { data, words, state } = view, max = statesMax(view);
  const options = data.statistics.map((name) => [name, words.statistics[name]]);
  const control = choice(words.statistic, options, state.statistic, (statistic) => set({ statistic }), signal);
  return section(view, "states", [control], (run) => statesOf(view, run, max));
};

/** @param {View} view */
const weightsSection = (view) => {
  const ranges = symbolRanges(view.data);
  return section(view, "weights", [], (run) => weightsOf(view, run, ranges));
};

/** @param {View} view @param {SetState} set @param {AbortSignal} signal */
const embeddingsSection = (view, set, signal) => {
  const choose = (token) => set({ token });
  return section(view, "embeddings", [tokenSearch(view, choose, signal)], (run) => embeddingsOf(view, run, choose));
};

/** Sections in their order, and the choices that each depends on. */
const SECTIONS = {
  models: {
    depends: ["mode"],
    draw: (view) => make("section", { id: "models", "aria-label": view.words.models }, modelTable(view)),
  },
  heads: { depends: ["mode", "role", "measure"], draw: headsSection },
  states: { depends: ["mode", "statistic"], draw: statesSection },
  weights: { depends: [], draw: weightsSection },
  embeddings: { depends: ["token"], draw: embeddingsSection },
};

/**
 * Draw into `root` the data of tongsa.visualize.inspection.
 * @param {ShadowRoot | HTMLElement} root
 * @param {any} packed
 * @param {import("./view_words.js").PanelOptions} [options]
 * @returns {import("./view_words.js").Panel}
 */
export const draw = (root, packed, { language = "en", saved = {}, onChange = () => {}, signal } = {}) => {
  const host = make("div", { class: "inspect", "aria-busy": true }), controllers = new Map();
  root.append(host);
  /** @type {View} */
  let view;
  const drawSection = (name) => {
    controllers.get(name)?.abort(); // listeners of the section that is replaced
    controllers.set(name, new AbortController());
    return SECTIONS[name].draw(view, set, controllers.get(name).signal);
  };
  /** @type {SetState} */
  const set = (choices) => {
    Object.assign(view.state, choices);
    for (const name of Object.keys(SECTIONS)) {
      const isChanged = SECTIONS[name].depends.some((key) => key in choices);
      if (isChanged) host.querySelector(`#${name}`)?.replaceWith(drawSection(name));
    }
    onChange({ ...view.state });
  };
  const setMode = (mode) => {
    set({ mode });
    host.querySelector(".modes")?.replaceWith(modeSwitch(view, setMode));
    /** @type {HTMLElement | null} */ (host.querySelector(`#mode-${mode}`))?.focus();
  };
  const render = () => {
    const { data, words } = view, skipped = data.skipped ? words.skipped(data.skipped) : "";
    const overview = words.overview(data.sentences.length, data.file, data.seed) + skipped;
    host.replaceChildren(make("p", { class: "quiet", text: overview }), modeSwitch(view, setMode),
      ...Object.keys(SECTIONS).map(drawSection));
    host.setAttribute("aria-busy", "false");
  };
  const setLanguage = (next) => {
    language = next;
    if (!view) return; // the first drawing, when the data is unpacked, has this language
    view = { ...view, language, words: language === "ko" ? korean : english };
    render();
  };
  unpackData(packed).then((data) => {
    if (signal?.aborted) return;
    view = { data, words: english, language, state: initialState(data, saved) };
    setLanguage(language);
    onThemeChange(render, signal);
  });
  return { setLanguage, setSentence: () => {} }; // the page shows all sentences
};
