/**
 * Numbers of a trace: unpacked or computed when first needed, and compared with PyTorch's.
 *
 * @typedef {{data: Float32Array | null, masked: Uint8Array | null, check: Check | null}} Loaded
 * @typedef {{ok: boolean, delta: number, compared: number}} Check
 */
import { compareCells, compareDigest, TOLERANCES } from "./trace_compare.js";
import { compute, isComputable, partOf, rowOfTensor, shifted } from "./trace_operations.js";
import { flatIndex, sizeOf, unpackBits, unpackFloats } from "./trace_tensor.js";
import { explain } from "./trace_terms.js";
import { linearRows } from "./trace_uses.js";

const LINEAR = ["linear", "logits"];
const KEEPS_MASK = ["softmax", "mask"]; // what was masked before stays masked

/** Unpack vectors such as γ and β; numbers stay as they are. The variant says which norm or activation it is. */
const unpackParameters = async (parameters = {}, variant = "") => {
  const packed = Object.entries(parameters).filter(([, value]) => typeof value?.values === "string");
  const unpacked = await Promise.all(packed.map(async ([name, value]) => [name, await unpackFloats(value.values)]));
  return { ...parameters, variant, ...Object.fromEntries(unpacked) };
};

/** Where masked cells are: 1 = masked; null if there are none. */
const maskedCells = (mask) => (mask.includes(0) ? mask.map((isRead) => 1 - isRead) : null);

/**
 * Logits of the tokens whose output embedding is stored, in place of those of the whole vocabulary: the page computes
 * them from the last hidden state and compares them with PyTorch's.
 */
export const withListedLogits = (data) => {
  const { embedding, top = [], logits: edited = null } = data.output ?? {},
    found = Object.entries(data.tensors).find(([, { name }]) => name === "output.logits");
  if (!embedding || !found) return data;
  const [id, logits] = found,
    { ids, shape, values, bias } = embedding,
    count = ids.length;
  const tokens = new Map(top.flat().map((entry) => [entry.id, entry.token]));
  data.target.ids.forEach((token, i) => tokens.set(token, data.target.outputs[i]));
  const cells = top.flatMap((entries, row) =>
    entries
      .filter((entry) => ids.includes(entry.id))
      .map((entry) => [row * count + ids.indexOf(entry.id), entry.logit]),
  );
  const listed = {
    ...logits,
    shape: [...logits.shape.slice(0, -1), count],
    names: ids.map((token) => tokens.get(token) ?? String(token)),
    vocabulary: logits.shape.at(-1), // the size, of which few tokens are listed
    parameters: {
      ...logits.parameters,
      weight: { shape, values },
      ...(bias ? { bias: typeof bias === "string" ? { values: bias } : bias } : {}),
    },
    ...(edited ? { values: edited, dtype: "float32" } : { check: { rows: null, cells } }),
  };
  return { ...data, tensors: { ...data.tensors, [id]: listed } };
};

/** What tensors are: names, equations, operands, and the tensors that read them. @param {any} data */
const traceTensors = (data) => {
  const consumers = new Map();
  const meta = (id) => ({ id, ...data.tensors[id] });
  const equation = (id) => data.equations[data.tensors[id].name] ?? {};
  /** Operands of a tensor: symbol, tensor, shift along time, and the columns that are read. */
  const operandsOf = (id) =>
    Object.entries(data.tensors[id].operands ?? {}).map(([symbol, operand]) => {
      const reference = typeof operand === "string" ? { tensor: operand } : operand;
      return { symbol, shift: 0, initial: null, part: null, row: null, ...reference, id: reference.tensor };
    });
  for (const id of Object.keys(data.tensors)) {
    for (const operand of operandsOf(id)) consumers.set(operand.id, [...(consumers.get(operand.id) ?? []), id]);
  }
  return { meta, equation, operandsOf, consumersOf: (id) => consumers.get(id) ?? [] };
};

/**
 * Numbers of tensors: stored or computed, when they are first needed.
 * @param {any} data
 * @param {ReturnType<typeof traceTensors>} tensors
 */
const traceNumbers = (data, { equation, operandsOf }) => {
  const cache = new Map();
  /** An operand's numbers; null if it is in a layer that was left out. */
  const operandTensor = async ({ id, shift, initial, part, row }) => {
    const numbers = id in data.tensors ? await numbersOf(id) : null;
    if (!numbers) return null;
    const tensor = rowOfTensor(partOf({ shape: data.tensors[id].shape, data: numbers }, part), row);
    return shift ? shifted(tensor, shift, initial ? await unpackFloats(initial) : null) : tensor;
  };
  /** What an operation needs: operands with numbers, and parameters with the mask. */
  const inputs = async (id) => {
    const { parameters, mask, shape, left_out: leftOut = [] } = data.tensors[id];
    const [operands, unpacked, bits] = await Promise.all([
      Promise.all([...operandsOf(id).map(operandTensor), ...leftOut.map(() => null)]),
      unpackParameters(parameters, equation(id).variant),
      mask ? unpackBits(mask, sizeOf(shape)) : null,
    ]);
    return { operands, parameters: { ...unpacked, mask: bits } };
  };
  const computed = async (id) => {
    const { operands, parameters } = await inputs(id),
      { operation } = equation(id);
    const isPossible = operands.every(Boolean) && isComputable(operation, operands, parameters);
    return isPossible ? compute(operation, operands, parameters, data.tensors[id].shape) : null;
  };
  /** Stored numbers depend on no operand: the states of a recurrent network depend on one another in a circle. */
  const numbersOf = (id) => {
    const { values, dtype } = data.tensors[id];
    if (!cache.has(id)) cache.set(id, values ? unpackFloats(values, dtype) : computed(id));
    return cache.get(id);
  };
  return { inputs, computed, numbersOf };
};

/** Compare what the page computes with what PyTorch computed; null where there is nothing to compare. */
const checkOf = async ({ shape, values, check, dtype, edited }, id, { computed, numbersOf }) => {
  if (edited || (!values && !check)) return null;
  const result = values ? await computed(id) : await numbersOf(id);
  if (!result) return null;
  const tolerance = TOLERANCES[dtype ?? "float32"];
  if (values) return compareCells(result, await numbersOf(id), tolerance);
  const digest = { ...check, rows: check.rows ? await unpackFloats(check.rows) : null };
  return compareDigest(result, shape, digest, tolerance);
};

/** A region of an operand as a region of the whole tensor: another time step, or columns of a part. */
const movedRegion = (region, shift, part) =>
  region.map((i, axis) => {
    if (i === null) return i;
    return axis === region.length - 1 && part ? i + part[0] : axis === region.length - 2 ? i + shift : i;
  });

/** What a weight matrix multiplies: one row of each operand. */
const linearReads = ({ tensors }, operands, id, index) =>
  operands.flatMap(({ id: source, row }, operand) => {
    if (!(source in tensors)) return [];
    return [{ operand, region: row === null ? linearRows(tensors[id], tensors[source], index) : [null] }];
  });

/** Cells that a number reads; before the first time step and after the last there is no cell. */
const readCells = ({ tensors }, operands, found) =>
  found
    .map(({ operand, region }) => {
      const { id: tensor, symbol, shift, part, row } = operands[operand];
      return { tensor, symbol, region: [...(row === null ? [] : [row]), ...movedRegion(region, shift, part)] };
    })
    .filter(({ tensor, region }) =>
      region.every((i, axis) => i === null || (i >= 0 && i < tensors[tensor].shape[axis])),
    );

/** @param {any} data the trace of one text */
export const traceStore = (data) => {
  const tensors = traceTensors(data),
    { meta, equation, operandsOf, consumersOf } = tensors,
    numbers = traceNumbers(data, tensors),
    loaded = new Map();
  const maskedOf = async (id) => {
    const { mask, shape } = data.tensors[id];
    if (mask) return maskedCells(await unpackBits(mask, sizeOf(shape)));
    const first = KEEPS_MASK.includes(equation(id).operation) ? operandsOf(id)[0]?.id : null;
    return first && first in data.tensors ? maskedOf(first) : null;
  };
  const loadNow = async (id) => {
    const parts = [numbers.numbersOf(id), maskedOf(id), checkOf(data.tensors[id], id, numbers)];
    const [found, masked, check] = await Promise.all(parts);
    return { data: found, masked, check };
  };
  /** @returns {Promise<Loaded>} */
  const load = (id) => {
    if (!loaded.has(id)) loaded.set(id, loadNow(id));
    return loaded.get(id);
  };
  /** How the number at an index arose; reads refer to operands by position. */
  const explainCell = async (id, index) => {
    const { operands, parameters } = await numbers.inputs(id),
      { shape, edited } = data.tensors[id];
    if (edited) return { reads: [], terms: [], lines: [] }; // the operands do not explain it
    const { operation } = equation(id),
      explanation = explain(operation, operands, parameters, shape, index),
      isLinear = LINEAR.includes(operation);
    const found = isLinear ? linearReads(data, operandsOf(id), id, index) : explanation.reads;
    return { ...explanation, reads: readCells(data, operandsOf(id), found) };
  };
  const value = async (id, index) =>
    (await numbers.numbersOf(id))?.[flatIndex(data.tensors[id].shape, index)] ?? null;
  const ids = data.stages.flatMap((stage) => stage.tensors);
  return { data, meta, equation, operandsOf, load, explainCell, value, consumersOf, ids };
};

/** Pairs of a tensor before and after an edit, by name, path and order. */
export const matchTensors = (before, after) => {
  const key = (tensors, counts) => (id) => {
    const base = `${tensors[id].name}\n${tensors[id].path}`,
      count = (counts.get(base) ?? 0) + 1;
    counts.set(base, count);
    return `${base}\n${count}`;
  };
  /** @returns {[string, string][]} */
  const keyed = (tensors) => {
    const keyOf = key(tensors, new Map());
    return Object.keys(tensors).map((id) => [keyOf(id), id]);
  };
  const afterByKey = new Map(keyed(after));
  return new Map(
    keyed(before)
      .filter(([name]) => afterByKey.has(name))
      .map(([name, id]) => [id, afterByKey.get(name)]),
  );
};
