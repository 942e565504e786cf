/** Controls of the family page: the time slider with play and pins, the output step, units and layers. */
import { make } from "./dom.js";

/** @typedef {import("./family_data.js").TimeUnit} TimeUnit */
/** @typedef {import("./family_view.js").View} View */
/**
 * @typedef {object} Actions
 * @property {(tick: number) => void} setTick
 * @property {(step: number) => void} setStep
 * @property {(unit: TimeUnit) => void} setTimeUnit
 * @property {(unit: "words" | "tokens") => void} setUnit
 * @property {(layer: number | null) => void} setLayer
 * @property {(head: number | null) => void} setHead
 * @property {() => void} play start or stop
 * @property {() => void} pin
 * @property {() => void} clearPins
 */

/** @param {string} id @param {string} text @param {() => void} click */
const button = (id, text, click) => make("button", { type: "button", class: "plain", id, text, click });

/**
 * A group of buttons of which one is pressed.
 * @template T
 * @param {string} name
 * @param {[T, string][]} choices
 * @param {T} current
 * @param {(value: T) => void} choose
 */
const choice = (name, choices, current, choose) => {
  const buttons = choices.map(([value, text]) => {
    const item = button("", text, () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === item));
      choose(value);
    });
    item.setAttribute("aria-pressed", String(value === current));
    return item;
  });
  const label = make("span", { class: "quiet small", text: name });
  return make("div", { class: "choice", role: "group", "aria-label": name }, label, ...buttons);
};

/**
 * A slider with its label and the text of its value.
 * @param {string} id
 * @param {string} name
 * @param {(value: number) => void} change
 */
const slider = (id, name, change) => {
  const input = make("input", { type: "range", min: 0, max: 0, id }), text = make("output", { for: id });
  input.addEventListener("input", () => change(Number(input.value)));
  /** @param {number} value @param {number} last @param {string} words */
  const show = (value, last, words) => {
    input.max = String(last);
    input.value = String(value);
    input.disabled = last < 1;
    input.setAttribute("aria-valuetext", words);
    text.textContent = words;
  };
  return { elements: [make("label", { for: id, class: "quiet small", text: name }), input, text], show };
};

/** @param {View} view @returns {[number | null, string][]} */
const layerChoices = ({ layerCount, labels }) => {
  const numbers = Array.from({ length: layerCount }, (_, i) => i);
  return [[null, labels.meanLayer], ...numbers.map((i) => /** @type {[number, string]} */ ([i, String(i + 1)]))];
};

/**
 * Buttons of the layers; choosing a head chooses a layer too.
 * @param {View} view
 * @param {[number | null, string][]} layers
 * @param {Actions} actions
 */
const layerChoice = ({ labels, state }, layers, actions) => {
  const box = choice(labels.layer, layers, state.layer, actions.setLayer);
  /** @param {number | null} layer */
  const show = (layer) =>
    box.querySelectorAll("button").forEach((item, i) => item.setAttribute("aria-pressed", String(layers[i][0] === layer)));
  return { box, show };
};

/** List of the single heads, of which models have different numbers. @param {View} view @param {Actions} actions */
const headChooser = ({ columns, labels }, actions) => {
  const counts = columns.flatMap(({ moments }) => moments.flatMap(({ heads = [] }) => heads.map(({ length }) => length)));
  const numbers = Array.from({ length: Math.max(0, ...counts) }, (_, i) => i);
  const select = make("select", { id: "head" }, make("option", { value: "", text: labels.meanLayer }),
    ...numbers.map((i) => make("option", { value: i, text: i + 1 })));
  select.addEventListener("change", () => actions.setHead(select.value === "" ? null : Number(select.value)));
  const label = make("label", { for: "head", class: "quiet small", text: labels.head });
  const box = make("div", { class: "choice" }, label, select);
  box.hidden = numbers.length < 2;
  return { box, show: (/** @type {number | null} */ head) => { select.value = String(head ?? ""); } };
};

/**
 * Draw the controls into an element. `update` shows the state, given whether the time is playing.
 * @param {HTMLElement} element
 * @param {View} view
 * @param {Actions} actions
 */
export const drawControls = (element, view, actions) => {
  const { labels, state } = view, layers = layerChoices(view), heads = headChooser(view, actions);
  const time = slider("time", labels.time, actions.setTick), step = slider("step", labels.outputStep, actions.setStep);
  const play = button("play", labels.play, actions.play), pin = button("pin", labels.pin, actions.pin);
  const clear = button("clear", labels.clearPins, actions.clearPins);
  const pins = make("p", { class: "small", role: "status" });
  const layer = layerChoice(view, layers, actions);
  /** @type {[TimeUnit, string][]} */
  const timeUnits = [["steps", labels.steps], ["minutes", labels.minutes]];
  /** @type {["words" | "tokens", string][]} */
  const units = [["words", labels.words], ["tokens", labels.tokens]];
  const timeLine = make("div", { class: "line" }, ...time.elements, play, pin, clear,
    choice(labels.align, timeUnits, state.timeUnit, actions.setTimeUnit));
  timeLine.hidden = view.ticks.length < 2; // one moment: nothing to choose
  element.replaceChildren(
    timeLine,
    make("div", { class: "line" }, ...step.elements, choice(labels.unit, units, state.unit, actions.setUnit),
      ...(layers.length > 2 ? [layer.box] : []), heads.box),
    pins);
  /** @param {boolean} isPlaying */
  const update = (isPlaying) => {
    time.show(state.tick, view.ticks.length - 1, view.timeText(view.time));
    const last = Math.max(...view.columns.map((column) => view.moment(column).target.tokens.length)) - 1;
    step.show(Math.min(state.step, last), last, `${Math.min(state.step, last) + 1} / ${last + 1}`);
    for (const item of step.elements) item.hidden = last < 1;
    play.textContent = isPlaying ? labels.pause : labels.play;
    clear.hidden = !state.pins.length;
    heads.show(state.head);
    layer.show(state.layer);
    const times = state.pins.map(view.timeText).join(" → ");
    pins.textContent = times && `${labels.pinned}: ${times}. ${view.isComparing ? "" : labels.pinHint}`;
  };
  return { update };
};
