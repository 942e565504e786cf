/**
 * Trace panel: one text walked through a model, every number with its equation, operands, code and check.
 *
 * The panel draws stages and tensors by their axes and operations; it knows no architecture.
 */
import { make, oncePerFrame, onThemeChange } from "./dom.js";
import { traceChecks } from "./trace_checks.js";
import { traceHeader } from "./trace_header.js";
import { inspector } from "./trace_inspector.js";
import { traceModel } from "./trace_model.js";
import { listenToKeys, navigation } from "./trace_navigation.js";
import { traceRail } from "./trace_rail.js";
import { traceStage } from "./trace_stage.js";
import { unpackJson } from "./trace_tensor.js";
import { tourSteps, traceTour } from "./trace_tour.js";
import { whatIf } from "./trace_what_if.js";

const COPIED_MS = 1500;

/** The panel's empty elements. */
const markup = () => {
  const header = make("header", { class: "trace-header" }),
    rail = make("nav", { class: "trace-rail" });
  const stage = make("div", { class: "trace-stage" }),
    inspected = make("aside", { class: "trace-inspector" });
  const tour = make("section", { class: "trace-tour" }),
    edits = make("section", { class: "trace-edits" });
  const toast = make("p", { class: "toast", role: "status" });
  const middle = make("div", { class: "middle" }, edits, stage, tour);
  const trace = make(
    "div",
    { class: "trace" },
    header,
    make("div", { class: "columns" }, rail, middle, inspected),
    toast,
  );
  return { trace, header, rail, stage, inspected, tour, edits, toast };
};

/** Button that starts and ends the tour. */
const tourButton = (app) => {
  const button = make("button", { type: "button", class: "plain tour-button" });
  button.addEventListener("click", () => app.change({ tour: app.state.tour ? 0 : 1 }));
  const show = () => {
    button.hidden = !tourSteps(app.baseData()).length;
    button.textContent = app.labels().tour;
    button.setAttribute("aria-pressed", String(app.state.tour > 0));
  };
  return { button, show };
};

/** Call a function with the height of an element whenever it changes. */
const onHeightChange = (element, listener, signal) => {
  const observer = new ResizeObserver(() => listener(element.offsetHeight));
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
};

/** Copy a text, and say so. */
const copier = (app, toast) => async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return; // a frame without permission: the text can be selected
  }
  toast.textContent = app.labels().copied;
  setTimeout(() => {
    toast.textContent = "";
  }, COPIED_MS);
};

/** Draw one trace; listeners end with the signal. @param {ShadowRoot} root @param {any} data @param {any} options */
const drawTrace = (root, data, options) => {
  const { language = "en", saved = {}, onChange = () => {}, request = null, openPanel = null } = options;
  const { signal } = options,
    parts = markup();
  root.append(parts.trace);
  /** @type {any} */
  const views = {};
  const showPointed = oncePerFrame(async () => {
    views.inspector.show();
    await app.findRegions();
    if (!signal.aborted) views.stage.paint();
  });
  const show = (/** @type {{stage: boolean, tour: boolean}} */ change) => {
    views.header.show();
    if (change.stage) {
      views.rail.show();
      views.stage.build();
      views.checks.run();
    } else {
      views.stage.refresh();
      views.rail.showBiography();
    }
    views.edits.show();
    views.tourButton.show();
    showPointed();
    if (change.tour) views.tour.show();
  };
  const listeners = {
    onPoint: showPointed,
    onChange: show,
    onPin: (isPinned) => {
      views.inspector.setOpen(isPinned);
      views.edits.showRow();
    },
    onMessage: (text) => views.edits.setMessage(text),
  };
  /** @type {any} */
  const app = traceModel(data, { language, saved, onChange, request, signal }, listeners);
  const { all_layers: all = [], layers: recorded = null } = data.recorded ?? {};
  const layers = {
    /** Layers that were not recorded, but that the server can record. */
    otherLayers: () => (request && recorded ? all.filter((layer) => !recorded.includes(layer)) : []),
    loadLayers: async (list) => {
      const answer = await app.requestLayers(list);
      if (answer) options.onReplace(answer, { ...options.saved, layer: String(list[0]) });
    },
  };
  const startEdit = (edit) => {
    views.edits.open();
    app.requestEdits([edit]);
  };
  Object.assign(app, navigation(app, views), {
    ...layers,
    openPanel,
    copy: copier(app, parts.toast),
    whatIf: startEdit,
  });
  Object.assign(views, {
    header: traceHeader(app, parts.header, signal),
    rail: traceRail(app, parts.rail),
    stage: traceStage(app, parts.stage, { onTop: (id) => views.rail.mark(id), signal }),
    inspector: inspector(app, parts.inspected, signal),
    tour: traceTour(app, parts.tour),
    edits: whatIf(app, parts.edits, signal),
    checks: traceChecks(app, signal),
    tourButton: tourButton(app),
  });
  views.header.tools.append(views.tourButton.button, views.checks.button);
  onHeightChange(parts.header, (height) => parts.trace.style.setProperty("--bar", `${height}px`), signal);
  listenToKeys(app, root, signal);
  addEventListener("hashchange", () => app.select(Object.fromEntries(new URLSearchParams(location.hash.slice(1)))), {
    signal,
  });
  onThemeChange(() => views.stage.refresh(), signal);
  show({ stage: true, tour: true });
  if (app.state.pinned && !app.state.tour) requestAnimationFrame(() => app.scrollToTensor(app.state.pinned.tensor));
  return { trace: parts.trace, state: app.state, setLanguage: (next) => app.change({ language: next }) };
};

/** Draw the trace of one sentence after another. */
const drawTraces = (root, traces, options) => {
  let controller = new AbortController();
  options.signal?.addEventListener("abort", () => controller.abort(), { once: true });
  const start = (trace, language, saved) =>
    drawTrace(root, trace, { ...options, language, saved, signal: controller.signal, onReplace: replace });
  /** Draw another trace in place of the one that is shown. */
  const replace = (trace, saved) => {
    const { language } = drawn.state;
    controller.abort();
    controller = new AbortController();
    drawn.trace.remove();
    drawn = start(trace, language, saved);
  };
  const traceOf = (sentence) => traces[Math.min(sentence, traces.length - 1)];
  let drawn = start(traceOf(options.sentence ?? 0), options.language, options.saved);
  return {
    setLanguage: (/** @type {string} */ language) => drawn.setLanguage(language),
    setSentence: (/** @type {number} */ sentence) => {
      if (traces.length > 1) replace(traceOf(sentence), {});
    },
  };
};

/**
 * Draw the panel into a shadow root. Listeners end with the signal.
 *
 * @param {ShadowRoot} root
 * @param {any} data the trace, as Python writes it; `{traces: [...]}` with one for each sentence; or one of them packed
 * @param {{language?: string, saved?: Record<string, string>, onChange?: (selection: object) => void,
 *   request?: ((body: object) => Promise<any>) | null, openPanel?: ((name: string) => void) | null, sentence?: number,
 *   signal?: AbortSignal}} [options] `request` sends edits to the server and returns another trace; without it,
 *   nothing can be edited
 */
export const draw = (root, data, options = {}) => {
  const current = { ...options };
  /** @type {ReturnType<typeof drawTraces> | null} */
  let panel = null;
  const start = (/** @type {any} */ unpacked) => {
    if (!options.signal?.aborted) panel = drawTraces(root, unpacked.traces ?? [unpacked], current);
  };
  if (data.packed) unpackJson(data).then(start);
  else start(data);
  return {
    setLanguage: (/** @type {string} */ language) => {
      current.language = language;
      panel?.setLanguage(language);
    },
    setSentence: (/** @type {number} */ sentence) => {
      current.sentence = sentence;
      panel?.setSentence(sentence);
    },
  };
};
