/** State of the trace panel: the selection, the trace before and after edits, and who is told of changes. */
import { themeColors } from "./canvas_text.js";
import { css } from "./dom.js";
import { clamp } from "./format.js";
import { movedLayer, readSelection, writeSelection } from "./trace_address.js";
import { axisNames, isOpen, stageGroups } from "./trace_layout.js";
import { completeStages, fittingSelection, limitsOf, movedCell, NO_REGIONS, regionsOf } from "./trace_selection.js";
import { matchTensors, traceStore, withListedLogits } from "./trace_store.js";
import { ENGLISH } from "./trace_words_en.js";
import { KOREAN } from "./trace_words_ko.js";

/** @typedef {ReturnType<typeof traceModel>} Model */
/** @typedef {{onPoint: () => void, onChange: (change: {stage: boolean, tour: boolean}) => void,
 *   onPin: (isPinned: boolean) => void, onMessage: (text: string) => void}} Listeners */

const SAVE_DELAY_MS = 200;
const isSame = (a, b) => a?.tensor === b?.tensor && String(a?.index) === String(b?.index);

/** The trace before and after edits. */
const traces = (data) => {
  const prepared = (trace) => withListedLogits({ ...trace, stages: completeStages(trace) });
  const base = traceStore(prepared(data));
  /** @type {{store: ReturnType<typeof traceStore>, matches: Map<string, string>} | null} */
  let edited = null;
  const edit = (trace) => {
    const store = trace && traceStore(prepared(trace));
    edited = store && { store, matches: matchTensors(base.data.tensors, store.data.tensors) };
  };
  /** The same tensor in the other trace, to show what an edit changed. */
  const alternative = async (id, isBefore) => {
    if (!edited) return null;
    const other = isBefore ? edited.matches.get(id) : [...edited.matches].find(([, after]) => after === id)?.[0];
    return other ? (isBefore ? edited.store : base).load(other) : { data: null };
  };
  return { base, edit, alternative, edited: () => edited?.store ?? null };
};

/**
 * Edits of the computation, which the server makes.
 * @param {any} model the selection: change, labels
 * @param {ReturnType<typeof traces>} traced
 * @param {{request: ((body: object) => Promise<any>) | null, signal: AbortSignal}} options
 * @param {Listeners} listeners
 */
const whatIf = (model, { base, edit, alternative, edited }, { request, signal }, listeners) => {
  const { recorded } = base.data,
    chosenLayers = recorded?.chosen ? { layers: recorded.layers } : {};
  /** @type {object[]} */
  let edits = [];
  const tell = (error) => listeners.onMessage(error instanceof Error ? error.message : String(error));
  const ask = async (body) => {
    if (!request) return;
    listeners.onMessage(model.labels().waiting);
    try {
      const answer = await request({ ...chosenLayers, ...body });
      if (signal.aborted) return;
      if (body.contrast && !body.edits.length) {
        // the same trace: only the contrast is new
        base.data.contrasts = answer.contrasts;
        listeners.onChange({ stage: false, tour: false });
      } else {
        edits = body.edits;
        edit(answer);
        model.change({ compare: "after" }, true);
      }
      listeners.onMessage("");
    } catch (error) {
      tell(error);
    }
  };
  return {
    baseData: () => base.data,
    editedData: () => edited()?.data ?? null,
    canEdit: () => request !== null,
    alternative: (id) => alternative(id, model.state.compare === "before"),
    requestEdits: (list) => ask({ edits: list }),
    /** The same text with other layers; null if the server refuses. */
    requestLayers: async (layers) => {
      listeners.onMessage(model.labels().waiting);
      try {
        return await request?.({ layers });
      } catch (error) {
        tell(error);
        return null;
      }
    },
    requestContrast: (contrast) => ask({ edits, contrast }),
    resetEdits: () => {
      edit(null);
      edits = [];
      model.change({ compare: "after" }, true);
      listeners.onMessage("");
    },
  };
};

/** An update within the limits of the trace: steps, layers, heads. */
const limited = (update, state, { base, edited }) => {
  const { steps, layers, heads } = limitsOf(base.data),
    result = { ...update };
  const lastStep = Math.max(1, steps, edited()?.data.target.outputs.length ?? 0);
  if ("step" in update) result.step = clamp(update.step, 1, lastStep);
  if ("layer" in update) result.layer = movedLayer(layers, state.layer, update.layer);
  if ("head" in update) result.head = clamp(update.head, 1, heads);
  return result;
};

/** Save the selection a moment after its last change. */
const delayedSave = (state, onChange, signal) => {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!signal.aborted) onChange(writeSelection({ ...state, cell: state.pinned ?? state.cell }));
    }, SAVE_DELAY_MS);
  };
};

/** What the pointed or pinned number reads, and what reads it. Only the last search counts. */
const regionSearch = (state, store) => {
  /** @type {{reads: any[], usedBy: any[]}} */
  let regions = NO_REGIONS;
  let pointing = 0;
  const findRegions = async () => {
    const cell = state.cell ?? state.pinned,
      current = ++pointing;
    const found = cell ? await regionsOf(store(), cell) : NO_REGIONS;
    if (current === pointing) regions = found;
  };
  return { findRegions, regions: () => regions };
};

/**
 * @param {any} data the trace, as Python writes it
 * @param {{language: string, saved: Record<string, string>, onChange: (selection: object) => void,
 *   request: ((body: object) => Promise<any>) | null, signal: AbortSignal}} options
 * @param {Listeners} listeners
 */
export const traceModel = (data, { language, saved, onChange, request, signal }, listeners) => {
  const traced = traces(data),
    { base, edited } = traced;
  const read = (address) => fittingSelection(base.data, readSelection(address, limitsOf(base.data)), address);
  /** @type {any} */
  const state = { language, compare: "after", ...read(saved) };
  state.pinned = state.cell;
  const store = () => (state.compare === "before" ? base : (edited() ?? base)),
    save = delayedSave(state, onChange, signal);

  const change = (update, isOtherTrace = false) => {
    const result = limited(update, state, traced);
    if (isOtherTrace || "compare" in update) Object.assign(result, { cell: null, pinned: null });
    else if ("layer" in update || "head" in update) {
      for (const name of ["cell", "pinned"]) result[name] ??= movedCell(store().data, state[name], result);
    }
    Object.assign(state, result);
    state.step = Math.min(state.step, Math.max(1, store().data.target.outputs.length));
    const stage = isOtherTrace || ["layer", "language", "compare"].some((key) => key in update);
    listeners.onChange({ stage, tour: "tour" in update || "language" in update });
    save();
  };
  const model = {
    state,
    store,
    change,
    ...regionSearch(state, store),
    labels: () => (state.language === "ko" ? KOREAN : ENGLISH),
    theme: () => ({ ...themeColors(), surface: css("--surface"), doubt: css("--doubt") }),
    groups: () => stageGroups(store().data.stages),
    limits: () => limitsOf(store().data),
    isOpenLayer: (stage) => isOpen(stage, model.groups(), state.layer),
    keyNames: ({ tensor }) => {
      const meta = store().meta(tensor);
      return axisNames(store().data, meta, meta.shape.length - 1, model.labels().axes.hop);
    },
    point: (cell, isKept = false) => {
      if (isSame(state.cell, cell)) return;
      state.cell = cell;
      listeners.onPoint();
      if (isKept) save();
    },
    pin: (cell) => {
      Object.assign(state, { pinned: cell, cell });
      listeners.onPin(cell !== null);
      listeners.onPoint();
      save();
    },
    /** Select what another address says. */
    select: (address) => {
      const selection = read(address);
      change({ ...selection, pinned: selection.cell });
    },
  };
  return { ...model, ...whatIf(model, traced, { request, signal }, listeners) };
};
