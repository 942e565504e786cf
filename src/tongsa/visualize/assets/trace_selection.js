/** What can be selected in a trace, and what belongs to the selected number. */
import { clamp } from "./format.js";
import { inLayer } from "./trace_address.js";
import { tourSteps } from "./trace_tour.js";
import { usedIn } from "./trace_uses.js";

/** Numbers of the layers that were recorded. */
const recordedLayers = ({ stages }) => {
  const numbers = new Set(stages.map(({ layer }) => layer ?? 1));
  return [...numbers].sort((a, b) => a - b);
};

/** Numbers of steps, layers and heads that can be chosen. */
export const limitsOf = (data) => {
  const tensors = Object.values(data.tensors);
  const heads = tensors.map(({ axes, shape }) => (axes[0] === "head" ? shape[0] : 1));
  return {
    steps: data.target.outputs.length,
    layers: recordedLayers(data),
    heads: Math.max(1, ...heads),
    tensors: data.tensors,
    counts: { source: data.source.tokens.length, target: data.target.inputs.length },
    tour: tourSteps(data).length,
  };
};

/** Stages with those that every trace has: the text, the output, and the search if there was one. */
export const completeStages = (data) => {
  const special = (side) =>
    data.stages.some((stage) => stage.side === side) ? [] : [{ id: side, side, layer: null, title: "", tensors: [] }];
  return [...special("text"), ...data.stages, ...special("output"), ...(data.search ? special("search") : [])];
};

/** The layer and the head of the selected cell, where the address names none. */
export const fittingSelection = (data, selection, address) => {
  if (!selection.cell) return selection;
  const { tensor, index } = selection.cell,
    stage = data.stages.find(({ tensors }) => tensors.includes(tensor));
  const head = data.tensors[tensor].axes[0] === "head" && !address.head ? index[0] + 1 : selection.head;
  return { ...selection, head, layer: address.layer ? selection.layer : (stage?.layer ?? selection.layer) };
};

/** No selected number: nothing is outlined. */
export const NO_REGIONS = { reads: [], usedBy: [] };

/** What the selected number reads, and what reads it. */
export const regionsOf = async (store, cell) => {
  const { reads } = await store.explainCell(cell.tensor, cell.index),
    { shape } = store.meta(cell.tensor);
  const usesOf = (tensor) =>
    store.operandsOf(tensor).flatMap((operand, position) => {
      if (operand.id !== cell.tensor || operand.shift || operand.part || operand.row !== null) return [];
      const region = usedIn(store.equation(tensor).operation, position, shape, store.meta(tensor).shape, cell.index);
      return region ? [{ tensor, region }] : [];
    });
  return { reads, usedBy: store.consumersOf(cell.tensor).flatMap(usesOf) };
};

/** The same cell for another layer or head; null if there is none. */
export const movedCell = ({ tensors, stages }, cell, update) => {
  if (!cell) return null;
  const tensor = "layer" in update ? inLayer(tensors, stages, cell.tensor, update.layer) : cell.tensor;
  if (!tensor) return null;
  const { axes, shape } = tensors[tensor],
    index = [...cell.index];
  if ("head" in update && axes[0] === "head") index[0] = update.head - 1;
  return { tensor, index: index.map((i, axis) => clamp(i, 0, shape[axis] - 1)) };
};
