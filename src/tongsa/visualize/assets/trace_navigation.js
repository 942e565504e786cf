/** Moving through the trace: to a card, a stage, a step of the tour, and by keys. */
import { hasNoModifier } from "./dom.js";
import { tourCell } from "./trace_tour.js";

/** @param {any} app @param {any} views the panel's parts; read when moving, as they need these functions themselves */
export const navigation = (app, views) => {
  const scrollTo = (element, block = "start") => {
    const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element?.scrollIntoView({ block, behavior: isReduced ? "auto" : "smooth" });
  };
  /** A card that fits stands directly above the tour, so that what it reads is visible, too. */
  const showAboveTour = (/** @type {HTMLElement | undefined} */ element) => {
    if (!element) return;
    const covered = views.tour.covered(),
      room = innerHeight - views.header.height() - covered;
    element.style.scrollMarginBottom = `${covered}px`;
    scrollTo(element, element.offsetHeight <= room ? "end" : "start");
  };
  const stageOf = (id) => app.store().data.stages.find((stage) => stage.tensors.includes(id));
  const openLayerOf = (stage) => {
    if (stage && stage.layer !== null && !app.isOpenLayer(stage)) app.change({ layer: stage.layer });
  };
  return {
    scrollToTensor: (id) => scrollTo(views.stage.elementOf(id)),
    /** Show a card; with an index, select that cell. */
    goTo: (id, index) => {
      openLayerOf(stageOf(id));
      const { axes } = app.store().meta(id);
      if (index && axes[0] === "head" && index[0] + 1 !== app.state.head) app.change({ head: index[0] + 1 });
      if (index) app.point({ tensor: id, index }, true);
      scrollTo(views.stage.elementOf(id));
      views.stage.elementOf(id)?.querySelector(".plot")?.focus({ preventScroll: true });
    },
    goToStage: (id) => scrollTo(views.stage.elementOfStage(id)),
    goToGroup: (group) => {
      openLayerOf(group.stages[0]);
      scrollTo(views.stage.elementOfStage(group.stages[0].id));
    },
    /** Show what a tour step names. */
    visit: ({ id, stage, step, head, cell }) => {
      const { steps } = app.limits();
      if (step) app.change({ step: step < 0 ? steps + step + 1 : step });
      if (head) app.change({ head });
      if (id) openLayerOf(stageOf(id));
      const index = id && cell ? tourCell(app.store().meta(id), cell, app.state.head) : null;
      app.pin(index ? { tensor: id, index } : null);
      views.inspector.setOpen(false); // on a phone the sheet would cover the card
      showAboveTour(id ? views.stage.elementOf(id) : views.stage.elementOfSide(stage));
    },
  };
};

/** Keys of the whole panel. @param {any} app @param {ShadowRoot} root @param {AbortSignal} signal */
export const listenToKeys = (app, root, signal) => {
  const { state } = app;
  const KEYS = {
    "[": () => app.change({ step: state.step - 1 }),
    "]": () => app.change({ step: state.step + 1 }),
    "{": () => app.change({ layer: state.layer - 1 }),
    "}": () => app.change({ layer: state.layer + 1 }),
    h: () => app.change({ head: (state.head % app.limits().heads) + 1 }),
    Enter: () => {
      if (state.cell) app.pin(state.cell);
    },
    Escape: () => app.pin(null),
  };
  const listen = (/** @type {KeyboardEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    const isTyping = target.matches("input:not([type=range]), select, textarea");
    const isPressed = event.key === "Enter" && target.matches("button, summary, a");
    if (!KEYS[event.key] || !hasNoModifier(event) || isTyping || isPressed) return;
    if (event.key === "Escape" && !state.cell && !state.pinned) return; // a dialog around the panel may close
    event.preventDefault();
    event.stopPropagation();
    KEYS[event.key]();
  };
  root.addEventListener("keydown", /** @type {EventListener} */ (listen), { signal });
};
