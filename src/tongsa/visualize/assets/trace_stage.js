/** The cards of the open layers, in the order of the computation. Numbers are loaded when a card comes into view. */
import { make } from "./dom.js";
import { outputCard, searchCard, textCard } from "./trace_output.js";
import { traceCard } from "./trace_card.js";
import { groupTitle, stageTitle } from "./trace_rail.js";
import { isOpen } from "./trace_layout.js";

const SPECIAL_CARDS = { text: textCard, output: outputCard, search: searchCard };
const LOAD_MARGIN = "400px";

/** True if a card shows cached keys or values: one row for each target token that was read. */
export const isCache = (meta) => {
  const row = meta.axes.length - 2;
  return meta.axes[row] === "key" && meta.labels?.[row] === "target" && !meta.labels?.[row + 1];
};

/** @param {HTMLElement} element */
export const traceStage = (app, element, { onTop, signal }) => {
  /** @type {any[]} */
  let cards = [];
  let controller = new AbortController();
  /** @type {IntersectionObserver | null} */
  let observer = null;
  signal.addEventListener("abort", () => controller.abort(), { once: true });

  const special = (stage) => {
    const build = SPECIAL_CARDS[stage.side];
    return build && isFirstOfSide(stage) ? [build(app)] : [];
  };
  const isFirstOfSide = (stage) => app.store().data.stages.find(({ side }) => side === stage.side) === stage;
  const card = (id) => {
    const created = traceCard(app, id, controller.signal);
    cards.push(created);
    if (isCache(app.store().meta(id))) created.element.append(make("p", { class: "small quiet cache" }));
    return created.element;
  };
  const stageElement = (stage, group) => {
    const title = group.stages.length === 1 && group.layer === null ? "" : stageTitle(app, stage); // the group has it
    return make(
      "section",
      { class: "stage", "data-stage": stage.id, "data-side": stage.side },
      ...(title ? [make("h3", { text: title })] : []),
      ...(stage.note ? [make("p", { class: "small note", text: app.labels().notes[stage.note] ?? stage.note })] : []),
      make("div", { class: "cards" }, ...special(stage), ...stage.tensors.map(card)),
    );
  };
  const groupElement = (group) => {
    const title = groupTitle(app, group);
    if (isOpen(group, app.groups(), app.state.layer)) {
      return make(
        "section",
        { class: "group", "data-group": group.id },
        make("h2", { text: title }),
        ...group.stages.map((stage) => stageElement(stage, group)),
      );
    }
    return make(
      "section",
      { class: "group closed" },
      make("button", {
        type: "button",
        class: "plain",
        text: `${title} ▸`,
        "aria-label": `${title}: ${app.labels().openLayer(group.layer)}`,
        click: () => app.goToGroup(group),
      }),
    );
  };

  /** Build all cards again: another layer, language or trace. Open tables stay open. */
  const build = () => {
    const opened = new Set(cards.filter(({ more }) => more.open).map(({ id }) => id));
    controller.abort();
    controller = new AbortController();
    observer?.disconnect();
    cards = [];
    element.replaceChildren(...app.groups().map(groupElement));
    for (const { id, more } of cards) more.open = opened.has(id);
    // all cards have their height before anything is loaded; widths are read first, so that the page is laid out once
    const widths = cards.map(({ plot }) => plot.clientWidth);
    cards.forEach((shown, i) => shown.refresh(widths[i]));
    observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const shown = cards.find((candidate) => candidate.element === target);
          if (isIntersecting) shown?.load();
          else shown?.hide();
        }
      },
      { rootMargin: LOAD_MARGIN },
    );
    for (const { element: target } of cards) observer.observe(target);
    showCaches();
  };
  const showCaches = () => {
    for (const note of element.querySelectorAll(".cache")) note.textContent = app.labels().cache(app.state.step);
  };
  /** Draw again for another step, head or token. */
  const refresh = () => {
    for (const shown of cards) shown.refresh();
    for (const [side, create] of Object.entries(SPECIAL_CARDS)) {
      const old = element.querySelector(`#card-${side}`);
      if (old && side !== "text") old.replaceWith(create(app));
    }
    showCaches();
  };
  /** @returns {HTMLElement[]} */
  const stageElements = () => Array.from(element.querySelectorAll("[data-stage]"));
  const paint = () => {
    for (const shown of cards) shown.paint();
  };

  const markTop = () => {
    let top = null;
    for (const { id, element: target } of cards) {
      if (target.getBoundingClientRect().top > innerHeight * 0.4) break;
      top = id;
    }
    if (top) onTop(top);
  };
  let scheduled = false;
  addEventListener(
    "scroll",
    () => {
      if (scheduled) return;
      scheduled = true;
      requestAnimationFrame(() => {
        scheduled = false;
        if (!signal.aborted) markTop();
      });
    },
    { signal, passive: true, capture: true },
  );

  return {
    build,
    refresh,
    paint,
    elementOf: (id) => cards.find((shown) => shown.id === id)?.element,
    elementOfStage: (id) => stageElements().find((stage) => stage.dataset.stage === id),
    elementOfSide: (side) =>
      element.querySelector(`#card-${side}`) ?? stageElements().find((stage) => stage.dataset.side === side),
  };
};
