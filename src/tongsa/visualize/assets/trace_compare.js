/** Comparison of computed numbers with those of PyTorch. */

/** Accepted difference by the precision of stored numbers, relative to the largest number: a few roundings. */
export const TOLERANCES = { float32: 2e-5, float16: 1e-2 };

/** Compare computed numbers with PyTorch's, cell by cell. */
export const compareCells = (computed, expected, tolerance = TOLERANCES.float32) => {
  let delta = 0,
    size = 1;
  for (let i = 0; i < expected.length; i++) {
    if (!Number.isFinite(expected[i]) && !Number.isFinite(computed[i])) continue;
    const difference = Math.abs(computed[i] - expected[i]);
    delta = Math.max(delta, Number.isNaN(difference) ? Infinity : difference);
    if (Number.isFinite(expected[i])) size = Math.max(size, Math.abs(expected[i]));
  }
  return { ok: computed.length === expected.length && delta <= tolerance * size, delta, compared: expected.length };
};

/** Compare computed numbers with PyTorch's row sums and sampled cells. */
export const compareDigest = (computed, shape, { rows, cells = [] }, tolerance = TOLERANCES.float32) => {
  const width = shape[shape.length - 1] ?? 1,
    sums = new Float64Array(computed.length / width);
  for (let i = 0; i < computed.length; i++)
    if (Number.isFinite(computed[i])) sums[Math.floor(i / width)] += computed[i];
  const byCell = compareCells(
    cells.map(([cell]) => computed[cell]),
    cells.map(([, value]) => value),
    tolerance,
  );
  const byRow = rows ? compareCells(sums, rows, tolerance) : { ok: true, delta: 0 };
  const rowTolerance = tolerance * Math.sqrt(width) * Math.max(1, ...(rows ?? []).map(Math.abs));
  return {
    ok: byCell.ok && (byRow.ok || byRow.delta <= rowTolerance),
    delta: Math.max(byCell.delta, byRow.delta),
    compared: cells.length + (rows?.length ?? 0),
  };
};
