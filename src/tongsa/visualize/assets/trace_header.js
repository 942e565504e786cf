/** Header: source and output tokens, step slider, layer and head. */
import { make } from "./dom.js";
import { followedToken, traceTokens } from "./trace_tokens.js";

const PLAY_INTERVAL_MS = 1200;

const options = (numbers) => numbers.map((number) => make("option", { value: number, text: number }));
const upTo = (count) => Array.from({ length: count }, (_, i) => i + 1);

/** Options of the layers: those of the trace, and those that the server can record instead. */
const layerOptions = (app) => {
  const others = app.otherLayers();
  const offered = others.length ? [make("optgroup", { label: app.labels().otherLayers }, ...options(others))] : [];
  return [...options(app.limits().layers), ...offered];
};

/** Slider over the output steps, which can be played. */
const stepControl = (app, signal) => {
  const slider = make("input", { type: "range", min: 1, step: 1, id: "step" }),
    readout = make("output", { for: "step", class: "figure small" }),
    label = make("label", { for: "step", class: "small" });
  const button = (text, click) => make("button", { type: "button", class: "step", text, click });
  const previous = button("‹", () => app.change({ step: app.state.step - 1 })),
    next = button("›", () => app.change({ step: app.state.step + 1 })),
    play = button("▶", () => (timer ? stop() : start()));
  const element = make("div", { class: "control steps" }, label, previous, slider, next, play, readout);
  let timer = 0;

  const showPlay = () => {
    play.textContent = timer ? "❚❚" : "▶";
    play.setAttribute("aria-label", timer ? app.labels().pause : app.labels().play);
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    showPlay();
  };
  const start = () => {
    if (app.state.step >= app.limits().steps) app.change({ step: 1 });
    timer = setInterval(() => {
      if (app.state.step >= app.limits().steps) stop();
      else app.change({ step: app.state.step + 1 });
    }, PLAY_INTERVAL_MS);
    showPlay();
  };
  const show = () => {
    const { steps } = app.limits(),
      { step } = app.state,
      labels = app.labels();
    element.hidden = steps < 2;
    Object.assign(slider, { max: steps, value: step });
    slider.setAttribute("aria-valuetext", labels.stepOf(step, steps));
    readout.textContent = labels.stepOf(step, steps);
    label.textContent = labels.step;
    previous.setAttribute("aria-label", labels.previousStep);
    next.setAttribute("aria-label", labels.nextStep);
    previous.disabled = step <= 1;
    next.disabled = step >= steps;
    showPlay();
  };
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  slider.addEventListener("input", () => app.change({ step: Number(slider.value) }), { signal });
  return { element, show };
};

/** List of layers or heads; hidden where there is one. */
const chooser = (id, choose, signal) => {
  const label = make("label", { for: id, class: "small" }),
    select = make("select", { id }),
    element = make("div", { class: "control" }, label, select);
  select.addEventListener("change", () => choose(Number(select.value)), { signal });
  const show = (name, choices, value) => {
    element.hidden = choices.length < 2;
    label.textContent = name;
    select.replaceChildren(...choices);
    select.value = String(value);
  };
  return { element, show };
};

/** @param {HTMLElement} element */
export const traceHeader = (app, element, signal) => {
  const chooseLayer = (layer) => (app.otherLayers().includes(layer) ? app.loadLayers([layer]) : app.change({ layer }));
  const tokens = traceTokens(app),
    steps = stepControl(app, signal),
    layer = chooser("layer", chooseLayer, signal),
    head = chooser("head", (value) => app.change({ head: value }), signal),
    following = followedToken(app),
    tools = make("div", { class: "tools" });
  const controls = [steps, layer, head, following].map((control) => control.element);
  element.append(tokens.element, make("div", { class: "controls" }, ...controls, tools));
  const show = () => {
    const labels = app.labels();
    tokens.show();
    steps.show();
    layer.show(labels.layer, layerOptions(app), app.state.layer);
    head.show(labels.head, options(upTo(app.limits().heads)), app.state.head);
    following.show();
  };
  return { show, tools, height: () => element.offsetHeight };
};
