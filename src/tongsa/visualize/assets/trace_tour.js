/**
 * Guided tour: a list of steps, each with a text in two languages and the card, cell and edit that it shows.
 *
 * @typedef {{en: string, ko: string, tensor?: string, side?: string | string[], layer?: number, stage?: string,
 *   cell?: number[], path?: string, step?: number, head?: number, edit?: object}} TourStep
 *   `tensor` is a recorded name such as "attention.scores", `path` a part of its module's path; negative numbers count
 *   from the end
 */
import { make } from "./dom.js";
import { clamp } from "./format.js";

/** The tensor that a step names: the first of its name in its layer, on the first of its sides that has one. */
export const tourTarget = (data, { tensor, side, layer, path = "" }) => {
  for (const wanted of side ? [side].flat() : [null]) {
    for (const stage of data.stages) {
      if ((wanted && stage.side !== wanted) || (layer && stage.layer !== layer)) continue;
      const id = stage.tensors.find(
        (candidate) => data.tensors[candidate].name === tensor && data.tensors[candidate].path.includes(path),
      );
      if (id) return id;
    }
  }
  return null;
};

/** Space between a card and the tour, in pixels. */
const MARGIN = 12;
const WITHOUT_TENSORS = ["text", "output", "search"];
const hasStage = (data, side) =>
  data.stages.some((stage) => stage.side === side && (stage.tensors.length || WITHOUT_TENSORS.includes(side)));

/** Steps whose tensor or stage exists in this trace. @returns {(TourStep & {id: string | null})[]} */
export const tourSteps = (data) =>
  (data.tour?.steps ?? [])
    .map((step) => ({ ...step, id: step.tensor ? tourTarget(data, step) : null }))
    .filter(({ tensor, stage, id }) => (tensor ? id !== null : !stage || hasStage(data, stage)));

/** The index of a step's cell, given without the head: −1 is the last, and too large numbers are clamped. */
export const tourCell = ({ shape, axes }, cell, head) => {
  const last = cell.slice(-shape.length || cell.length),
    missing = shape.length - last.length;
  const leading = shape.slice(0, missing).map((_, axis) => (axes[axis] === "head" ? head : 1));
  return [...leading, ...last].map((i, axis) => clamp((i < 0 ? shape[axis] + i + 1 : i) - 1, 0, shape[axis] - 1));
};

/** @param {HTMLElement} element */
export const traceTour = (app, element) => {
  const text = make("p", { class: "tour-text", role: "status" }),
    count = make("span", { class: "figure small" });
  const button = (name, style, click) => make("button", { type: "button", class: style, "data-name": name, click });
  const go = (by) => app.change({ tour: clamp(app.state.tour + by, 1, steps().length) });
  const previous = button("previous", "plain", () => go(-1)),
    next = button("next", "plain", () => go(1));
  const tryIt = button("tryIt", "plain try", () => tryEdit(steps()[app.state.tour - 1]));
  const close = button("close", "plain", () => app.change({ tour: 0 }));
  const title = make("span", { class: "small quiet" });
  element.append(
    make("div", { class: "tour-top" }, title, count),
    text,
    make("div", { class: "buttons" }, previous, next, tryIt, close),
  );
  let shown = 0;

  const steps = () => tourSteps(app.baseData());
  /** An edit of one head is that of the head and the attention that the step shows. */
  const tryEdit = (/** @type {any} */ { edit, id }) => {
    const { stages, tensors, equations } = app.baseData();
    const stage = stages.find((candidate) => candidate.tensors.includes(id));
    const weights = stage?.tensors.find((tensor) => equations[tensors[tensor].name]?.operation === "softmax");
    const isHead = edit.type === "head_off" && weights;
    app.whatIf(isHead ? { path: tensors[weights].path, head: app.state.head, ...edit } : edit);
  };
  const show = () => {
    const list = steps(),
      { tour, language } = app.state,
      labels = app.labels(),
      step = list[tour - 1];
    element.hidden = !step;
    element.setAttribute("aria-label", labels.tour);
    if (!step) {
      shown = 0;
      return;
    }
    title.textContent = app.baseData().tour.title?.[language] ?? labels.tour;
    count.textContent = labels.tourStep(tour, list.length);
    text.textContent = step[language] ?? step.en;
    previous.disabled = tour === 1;
    next.disabled = tour === list.length;
    tryIt.hidden = !(step.edit && app.canEdit());
    for (const control of [previous, next, tryIt, close]) control.textContent = labels[control.dataset.name ?? ""];
    if (shown === tour) return;
    shown = tour;
    app.visit(step);
  };
  /** Height that the tour covers at the lower edge of the window. */
  const covered = () => element.offsetHeight + (parseFloat(getComputedStyle(element).bottom) || 0) + MARGIN;
  return { show, covered };
};
