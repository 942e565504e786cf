/** Header: source and output tokens, step slider, layer and head. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";

const PLAY_INTERVAL_MS = 1200;

const options = (numbers) => numbers.map((number) => make("option", { value: number, text: number }));
const upTo = (count) => Array.from({ length: count }, (_, i) => i + 1);

/** Options of the layers: those of the trace, and those that the server can record instead. */
const layerOptions = (app, recorded) => {
  const others = app.otherLayers();
  const offered = others.length ? [make("optgroup", { label: app.labels().otherLayers }, ...options(others))] : [];
  return [...options(recorded), ...offered];
};

/** @param {HTMLElement} element */
export const traceHeader = (app, element, signal) => {
  const source = make("div", { class: "tokens", role: "group" }),
    target = make("div", { class: "tokens", role: "group" });
  const slider = make("input", { type: "range", min: 1, step: 1, id: "step" }),
    readout = make("output", { for: "step", class: "figure small" });
  const button = (text, click) => make("button", { type: "button", class: "step", text, click });
  const play = button("▶", () => (timer ? stop() : start()));
  const previous = button("‹", () => app.change({ step: app.state.step - 1 }));
  const next = button("›", () => app.change({ step: app.state.step + 1 }));
  const stepLabel = make("label", { for: "step", class: "small" });
  const steps = make("div", { class: "control steps" }, stepLabel, previous, slider, next, play, readout);
  const chooser = (id) =>
    make("div", { class: "control" }, make("label", { for: id, class: "small" }), make("select", { id }));
  const layer = chooser("layer"),
    head = chooser("head"),
    following = make("div", { class: "control following", hidden: "" });
  const tools = make("div", { class: "tools" });
  element.append(
    make(
      "div",
      { class: "sentence" },
      source,
      make("span", { class: "quiet", "aria-hidden": true, text: "⟶" }),
      target,
    ),
    make("div", { class: "controls" }, steps, layer, head, following, tools),
  );
  let timer = 0;

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
  const showPlay = () => {
    play.textContent = timer ? "❚❚" : "▶";
    play.setAttribute("aria-label", timer ? app.labels().pause : app.labels().play);
  };
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  slider.addEventListener("input", () => app.change({ step: Number(slider.value) }), { signal });
  /** @returns {HTMLSelectElement} */
  const selectOf = (box) => box.querySelector("select");
  for (const box of [layer, head]) {
    const select = selectOf(box);
    select.addEventListener(
      "change",
      () => {
        const value = Number(select.value);
        if (select.id === "layer" && app.otherLayers().includes(value)) app.loadLayers([value]);
        else app.change({ [select.id]: value });
      },
      { signal },
    );
  }

  const follow = (side, i) => (isFollowed(side, i) ? null : { side, i });
  const isFollowed = (side, i) => app.state.token?.side === side && app.state.token.i === i;
  const token = (side, text, i, label, style, click) => {
    const attributes = {
      type: "button",
      class: `token ${style}`,
      "data-token": `${side}${i + 1}`,
      "aria-label": label,
    };
    return make("button", { ...attributes, "aria-pressed": isFollowed(side, i), text: displayToken(text), click });
  };
  const sourceToken = (text, i) => {
    const click = () => app.change({ token: follow("source", i) });
    return token("source", text, i, app.labels().follow(displayToken(text)), "", click);
  };
  const targetToken = (text, i) => {
    const style = i + 1 === app.state.step ? "now" : i + 1 > app.state.step ? "later" : "";
    const click = () => app.change({ step: i + 1, token: follow("target", i) });
    return token("target", text, i, app.labels().writes(i + 1, displayToken(text)), style, click);
  };
  const showTokens = () => {
    const { data } = app.store(),
      labels = app.labels();
    const focused = /** @type {ShadowRoot} */ (element.getRootNode()).activeElement?.getAttribute("data-token");
    source.setAttribute("aria-label", labels.source);
    target.setAttribute("aria-label", labels.target);
    source.replaceChildren(...data.source.tokens.map(sourceToken));
    target.replaceChildren(...data.target.outputs.map(targetToken));
    const again = focused && element.querySelector(`[data-token="${focused}"]`); // the button was created again
    if (again instanceof HTMLElement) again.focus();
  };
  const show = () => {
    const { steps: stepCount, layers, heads } = app.limits(),
      { step, token: followed } = app.state,
      labels = app.labels(),
      { data } = app.store();
    showTokens();
    steps.hidden = stepCount < 2;
    Object.assign(slider, { max: stepCount, value: step });
    slider.setAttribute("aria-valuetext", labels.stepOf(step, stepCount));
    readout.textContent = labels.stepOf(step, stepCount);
    stepLabel.textContent = labels.step;
    for (const [box, choices, value, name] of [
      [layer, layerOptions(app, layers), app.state.layer, labels.layer],
      [head, options(upTo(heads)), app.state.head, labels.head],
    ]) {
      const select = selectOf(box);
      box.hidden = choices.length < 2;
      box.querySelector("label").textContent = name;
      select.replaceChildren(...choices);
      select.value = String(value);
    }
    previous.setAttribute("aria-label", labels.previousStep);
    next.setAttribute("aria-label", labels.nextStep);
    previous.disabled = step <= 1;
    next.disabled = step >= stepCount;
    following.hidden = !followed;
    const name = followed && (followed.side === "source" ? data.source.tokens : data.target.inputs)[followed.i];
    following.replaceChildren(
      ...(followed
        ? [
            make("span", { class: "small", text: labels.following(displayToken(name ?? "")) }),
            make("button", {
              type: "button",
              class: "plain",
              text: labels.all,
              click: () => app.change({ token: null }),
            }),
          ]
        : []),
    );
    showPlay();
  };
  return { show, tools, height: () => element.offsetHeight };
};
