/** The cards of the open layers, in the order of the computation. Numbers are loaded when a card comes into view. */
import { make, oncePerFrame } from "./dom.js";
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

/** Cards of a stage that show no tensor: the first stage of a side has them. */
const specialCards = (app, stage) => {
  const build = SPECIAL_CARDS[stage.side],
    first = app.store().data.stages.find(({ side }) => side === stage.side);
  return build && first === stage ? [build(app)] : [];
};

/** @param {(id: string) => HTMLElement} card builds the card of a tensor */
const stageElement = (app, stage, group, card) => {
  const title = group.stages.length === 1 && group.layer === null ? "" : stageTitle(app, stage); // the group has it
  return make(
    "section",
    { class: "stage", "data-stage": stage.id, "data-side": stage.side },
    ...(title ? [make("h3", { text: title })] : []),
    ...(stage.note ? [make("p", { class: "small note", text: app.labels().notes[stage.note] ?? stage.note })] : []),
    make("div", { class: "cards" }, ...specialCards(app, stage), ...stage.tensors.map(card)),
  );
};

/** @param {(id: string) => HTMLElement} card builds the card of a tensor */
const groupElement = (app, group, card) => {
  const title = groupTitle(app, group);
  if (isOpen(group, app.groups(), app.state.layer)) {
    return make(
      "section",
      { class: "group", "data-group": group.id },
      make("h2", { text: title }),
      ...group.stages.map((stage) => stageElement(app, stage, group, card)),
    );
  }
  const button = make("button", {
    type: "button",
    class: "plain",
    text: `${title} ▸`,
    "aria-label": `${title}: ${app.labels().openLayer(group.layer)}`,
    click: () => app.goToGroup(group),
  });
  return make("section", { class: "group closed" }, button);
};

/** Load the cards that come near the window, and hide those that leave it. */
const observeCards = (cards) => {
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const shown = cards.find((candidate) => candidate.element === target);
        if (isIntersecting) shown?.load();
        else shown?.hide();
      }
    },
    { rootMargin: LOAD_MARGIN },
  );
  for (const { element } of cards) observer.observe(element);
  return observer;
};

/** Tell which card is at the top while the page scrolls. */
const followScrolling = (cards, onTop, signal) => {
  const markTop = () => {
    let top = null;
    for (const { id, element } of cards()) {
      if (element.getBoundingClientRect().top > innerHeight * 0.4) break;
      top = id;
    }
    if (top) onTop(top);
  };
  const schedule = oncePerFrame(() => {
    if (!signal.aborted) markTop();
  });
  addEventListener("scroll", schedule, { signal, passive: true, capture: true });
};

/** Build the cards that show no tensor again, for another step; the text does not depend on it. */
const refreshSpecialCards = (app, element) => {
  for (const side of ["output", "search"]) element.querySelector(`#card-${side}`)?.replaceWith(SPECIAL_CARDS[side](app));
};

/** The first stage whose data attribute has a value. @param {HTMLElement} element @returns {HTMLElement | undefined} */
const findStage = (element, key, value) =>
  /** @type {HTMLElement[]} */ (Array.from(element.querySelectorAll("[data-stage]"))).find(
    ({ dataset }) => dataset[key] === value,
  );

/** @param {HTMLElement} element */
export const traceStage = (app, element, { onTop, signal }) => {
  /** @type {any[]} */
  let cards = [];
  let controller = new AbortController();
  /** @type {IntersectionObserver | null} */
  let observer = null;
  signal.addEventListener("abort", () => controller.abort(), { once: true });

  const card = (id) => {
    const created = traceCard(app, id, controller.signal);
    cards.push(created);
    if (isCache(app.store().meta(id))) created.element.append(make("p", { class: "small quiet cache" }));
    return created.element;
  };
  const showCaches = () => {
    for (const note of element.querySelectorAll(".cache")) note.textContent = app.labels().cache(app.state.step);
  };
  /** Build all cards again: another layer, language or trace. Open tables stay open. */
  const build = () => {
    const opened = new Set(cards.filter(({ more }) => more.open).map(({ id }) => id));
    controller.abort();
    controller = new AbortController();
    observer?.disconnect();
    cards = [];
    element.replaceChildren(...app.groups().map((group) => groupElement(app, group, card)));
    for (const { id, more } of cards) more.open = opened.has(id);
    // all cards have their height before anything is loaded; widths are read first, so that the page is laid out once
    const widths = cards.map(({ plot }) => plot.clientWidth);
    cards.forEach((shown, i) => shown.refresh(widths[i]));
    observer = observeCards(cards);
    showCaches();
  };
  /** Draw again for another step, head or token. */
  const refresh = () => {
    for (const shown of cards) shown.refresh();
    refreshSpecialCards(app, element);
    showCaches();
  };
  const paint = () => {
    for (const shown of cards) shown.paint();
  };
  followScrolling(() => cards, onTop, signal);
  return {
    build,
    refresh,
    paint,
    elementOf: (id) => cards.find((shown) => shown.id === id)?.element,
    elementOfStage: (id) => findStage(element, "stage", id),
    elementOfSide: (side) => element.querySelector(`#card-${side}`) ?? findStage(element, "side", side),
  };
};
