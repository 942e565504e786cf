/** Numbers of the trace page: packed arrays, operations, explanations, checks. */
import assert from "node:assert/strict";
import { deflateSync } from "node:zlib";
import { test } from "node:test";

import { compareCells, compareDigest } from "../../src/tongsa/visualize/assets/trace_compare.js";
import { compute, erf, isComputable, shifted } from "../../src/tongsa/visualize/assets/trace_operations.js";
import { matchTensors, traceStore } from "../../src/tongsa/visualize/assets/trace_store.js";
import {
  bitsFromBytes,
  flatIndex,
  floatsFromPlanes,
  halfFloat,
  indexAt,
  matrixOf,
  rectangleOf,
} from "../../src/tongsa/visualize/assets/trace_tensor.js";
import { explain } from "../../src/tongsa/visualize/assets/trace_terms.js";
import { largestTerms, usedIn } from "../../src/tongsa/visualize/assets/trace_uses.js";

const tensor = (shape, numbers) => ({ shape, data: Float32Array.from(numbers) });
const range = (count, start = 0) => Array.from({ length: count }, (_, i) => Math.sin(start + i * 1.7));
const close = (actual, expected, tolerance = 1e-6) =>
  expected.forEach((value, i) =>
    assert.ok(Math.abs(actual[i] - value) <= tolerance, `${i}: ${actual[i]} ≠ ${value}`),
  );
const planes = (numbers) => {
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer),
    count = numbers.length;
  return Uint8Array.from({ length: bytes.length }, (_, i) => bytes[(i % count) * 4 + Math.floor(i / count)]);
};
const pack = (numbers) => deflateSync(planes(numbers)).toString("base64");

test("numbers are read from byte planes, half floats and bits", () => {
  assert.deepEqual([...floatsFromPlanes(planes([1.5, -2, 0.25]))], [1.5, -2, 0.25]);
  assert.deepEqual([0x3c00, 0xc000, 0x0001, 0xfc00].map(halfFloat), [1, -2, 2 ** -24, -Infinity]);
  assert.deepEqual([...bitsFromBytes(Uint8Array.of(0b10100000), 4)], [1, 0, 1, 0]);
});

test("a flat index and an index are inverse", () => {
  for (let flat = 0; flat < 24; flat++) assert.equal(flatIndex([2, 3, 4], indexAt([2, 3, 4], flat)), flat);
});

test("a card draws the last two axes of the chosen head", () => {
  const matrix = matrixOf({ axes: ["head", "query", "key"], shape: [2, 3, 4] }, { head: 1 });
  assert.equal(matrix.flat(2, 3), 23);
  assert.deepEqual(matrix.index(2, 3), [1, 2, 3]);
  assert.deepEqual(rectangleOf(matrix, [1, 2, null]), [2, 0, 1, 4]);
  assert.equal(rectangleOf(matrix, [0, 2, null]), null);
  assert.deepEqual(matrixOf({ axes: ["width"], shape: [5] }, {}).index(0, 3), [3]);
  assert.deepEqual(matrixOf({ axes: [], shape: [] }, {}).index(0, 0), []);
});

test("erf has twelve digits", () =>
  close(
    [erf(0.5), erf(2), erf(2.6), erf(-1)],
    [0.520499877813, 0.995322265019, 0.999763965583, -0.84270079295],
    1e-11,
  ));

test("a mask, a softmax and a weighted sum give attention", () => {
  const scores = tensor([1, 2, 2], [1, 2, 3, 4]),
    mask = Uint8Array.of(1, 0, 1, 1);
  const masked = compute("mask", [scores], { mask }, [1, 2, 2]);
  assert.deepEqual([...masked], [1, -Infinity, 3, 4]);
  const weights = compute("softmax", [tensor([1, 2, 2], masked)], {}, [1, 2, 2]);
  close(weights, [1, 0, 1 / (1 + Math.E), Math.E / (1 + Math.E)]);
  close(
    compute("weighted_sum", [tensor([1, 2, 2], weights), tensor([1, 2, 3], [1, 2, 3, 4, 5, 6])], {}, [1, 2, 3]).slice(
      0,
      3,
    ),
    [1, 2, 3],
  );
});

test("norms follow their definitions", () => {
  const x = tensor([1, 4], [1, 2, 3, 6]);
  close(
    compute("norm", [x], { variant: "rms", eps: 0 }, [1, 4]),
    [1, 2, 3, 6].map((value) => value / Math.sqrt(12.5)),
  );
  close(
    compute("norm", [x], { variant: "layer", eps: 0 }, [1, 4]),
    [1, 2, 3, 6].map((value) => (value - 3) / Math.sqrt(3.5)),
  );
  close(compute("norm", [x], { variant: "group", groups: 2, eps: 0 }, [1, 4]), [-1, 1, -1, 1]);
  close(
    compute(
      "norm",
      [x],
      {
        variant: "batch",
        eps: 0,
        mean: [1, 1, 1, 1],
        variance: [4, 4, 4, 4],
        gamma: [2, 2, 2, 2],
        beta: [1, 1, 1, 1],
      },
      [1, 4],
    ),
    [1, 2, 3, 6],
  );
});

test("an operand of the time before begins with the initial state", () => {
  const states = tensor([3, 2], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...shifted(states, -1, [9, 8]).data], [9, 8, 1, 2, 3, 4]);
  assert.deepEqual([...shifted(states, 1, null).data], [3, 4, 5, 6, 0, 0]);
});

/** Operation → operands, parameters and shape of its result. */
const CASES = {
  add: [[tensor([2, 3], range(6)), tensor([3], range(3, 9))], {}, [2, 3]],
  residual: [[tensor([2, 3], range(6)), tensor([2, 3], range(6, 9))], { scale: Math.SQRT1_2 }, [2, 3]],
  scale: [[tensor([2, 3], range(6))], { scale: 13.8 }, [2, 3]],
  norm: [[tensor([2, 4], range(8))], { variant: "layer", eps: 1e-5, gamma: range(4, 1), beta: range(4, 2) }, [2, 4]],
  scaled_dot: [[tensor([2, 3, 4], range(24)), tensor([2, 5, 4], range(40, 3))], { scale: 0.5 }, [2, 3, 5]],
  additive_score: [[tensor([2, 3, 4], range(24)), tensor([2, 5, 4], range(40, 3))], { v: range(8, 5) }, [2, 3, 5]],
  softmax: [[tensor([2, 3], range(6))], {}, [2, 3]],
  weighted_sum: [[tensor([2, 3, 5], range(30)), tensor([2, 5, 4], range(40, 3))], {}, [2, 3, 4]],
  activation: [[tensor([2, 6], range(12))], { variant: "glu" }, [2, 3]],
  gate_mix: [
    [tensor([2, 3], range(6)), tensor([2, 3], range(6, 1)), tensor([2, 3], range(6, 2))],
    { variant: "gru" },
    [2, 3],
  ],
  maxout: [[tensor([2, 6], range(12))], {}, [2, 3]],
  linear: [[tensor([2, 4], range(8))], { weight: range(12, 3), bias: range(3, 4) }, [2, 3]],
  mean: [[tensor([5, 3], range(15))], {}, [3]],
  penalty: [[tensor([2, 4], range(8))], {}, [1]],
};
for (const [operation, [operands, parameters, shape]] of Object.entries(CASES)) {
  test(`${operation}: the explanation of every number ends in that number`, () => {
    assert.ok(isComputable(operation, operands, parameters));
    compute(operation, operands, parameters, shape).forEach((value, flat) => {
      const index = indexAt(shape, flat),
        { reads, lines, terms } = explain(operation, operands, parameters, shape, index);
      close([lines[lines.length - 1].value], [value], 1e-5);
      if (terms.length && operation !== "softmax")
        close(
          [largestTerms(terms, 2).rest + largestTerms(terms, 2).largest.reduce((sum, term) => sum + term.value, 0)],
          [lines[0].value],
          1e-5,
        );
      for (const { operand, region } of reads) {
        assert.equal(region.length, operands[operand].shape.length);
        region.forEach((i, axis) => assert.ok(i === null || (i >= 0 && i < operands[operand].shape[axis])));
      }
    });
  });
  test(`${operation}: what a number reads is used by that number`, () => {
    const index = shape.map((length) => length - 1),
      { reads } = explain(operation, operands, parameters, shape, index);
    for (const { operand, region } of reads) {
      const used = usedIn(
        operation,
        operand,
        operands[operand].shape,
        shape,
        region.map((i) => i ?? 0),
      );
      if (used)
        used.forEach((i, axis) =>
          assert.ok(i === null || i === index[axis], `${operation}: ${used} does not contain ${index}`),
        );
    }
  });
}

test("heads are joined side by side", () => {
  const joined = compute("concat", [tensor([2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8])], {}, [2, 4]);
  assert.deepEqual([...joined], [1, 2, 5, 6, 3, 4, 7, 8]);
  assert.deepEqual(
    explain("concat", [tensor([2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8])], {}, [2, 4], [1, 2]).reads[0].region,
    [1, 1, 0],
  );
});

test("a convolution reads its window: causal, centered, dilated", () => {
  const rows = (parameters) => explain("window", [tensor([6, 1], [0, 1, 2, 3, 4, 5])], parameters, [6, 1], [4, 0])
    .reads.map(({ region }) => region[0]);
  assert.deepEqual(rows({ kernel: 3, left: 2 }), [2, 3, 4]);
  assert.deepEqual(rows({ kernel: 3, left: 1 }), [3, 4, 5]);
  assert.deepEqual(rows({ kernel: 3, left: 1, dilation: 2 }), [2, 4]);
  assert.deepEqual(rows({ kernel: 2, left: 1, dilation: 4 }), [0, 4]);
});

test("a difference from PyTorch is found", () => {
  assert.ok(compareCells([1, 2, -Infinity], [1, 2.00001, -Infinity]).ok);
  assert.ok(!compareCells([1, 2, 3], [1, 2.001, 3]).ok);
  assert.ok(!compareCells([1, NaN], [1, 2]).ok);
  assert.ok(!compareCells([1], [1, 2]).ok);
  assert.ok(compareDigest([1, 2, 3, 4], [2, 2], { rows: [3, 7], cells: [[2, 3]] }).ok);
  assert.ok(!compareDigest([1, 2, 3, 4], [2, 2], { rows: [3, 7.01], cells: [[2, 3]] }).ok);
});

const trace = (values = range(4)) => ({
  stages: [{ id: "a", side: "encoder", layer: 1, tensors: ["t0", "t1", "t2"] }],
  equations: { x: { operation: "lookup" }, y: { operation: "scale" }, z: { operation: "add" } },
  tensors: {
    t0: { name: "x", path: "p", axes: ["token", "width"], shape: [2, 2], values: pack(values) },
    t1: {
      name: "y",
      path: "p",
      axes: ["token", "width"],
      shape: [2, 2],
      operands: { x: "t0" },
      parameters: { scale: 2 },
      values: null,
      check: { rows: null, cells: [[3, 2 * range(4)[3]]] },
    },
    t2: {
      name: "z",
      path: "p",
      axes: ["token", "width"],
      shape: [2, 2],
      operands: { y: "t1", x: { tensor: "t0", shift: -1 } },
      values: null,
    },
  },
});
test("tensors are computed from operands and compared", async () => {
  const store = traceStore(trace()),
    { data, check } = await store.load("t1");
  close(
    data,
    range(4).map((value) => 2 * value),
  );
  assert.ok(check.ok);
  assert.deepEqual(store.consumersOf("t0"), ["t1", "t2"]);
  close(
    (await store.load("t2")).data,
    [0, 1, 2, 3].map((i) => 2 * range(4)[i] + (i > 1 ? range(4)[i - 2] : 0)),
  );
  assert.deepEqual((await store.explainCell("t2", [1, 0])).reads, [
    { tensor: "t1", symbol: "y", region: [1, 0] },
    { tensor: "t0", symbol: "x", region: [0, 0] },
  ]);
  assert.equal((await store.explainCell("t2", [0, 0])).reads.length, 1); // before the first time there is no cell
});
test("a stored number that was changed fails the check", async () => {
  const values = range(4);
  values[3] += 0.01;
  assert.equal((await traceStore(trace(values)).load("t1")).check.ok, false);
});
test("tensors before and after an edit are paired by name and path", () => {
  assert.deepEqual(
    [...matchTensors(trace().tensors, { n0: { name: "y", path: "p" }, n1: { name: "z", path: "other" } })],
    [["t1", "n0"]],
  );
});
