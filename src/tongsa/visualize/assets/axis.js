/** Axes of a chart: round ticks, linear and logarithmic scales, numbers. Pure functions. */

/**
 * Return a few round numbers; low and high lie between the first and the last.
 * @param {number} low
 * @param {number} high
 * @param {number} [count]
 */
export const ticks = (low, high, count = 3) => {
  const raw = (high - low || Math.abs(high) || 1) / count,
    unit = 10 ** Math.floor(Math.log10(raw));
  const stride = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((size) => size >= raw * 0.999) ?? 10 * unit;
  const first = Math.floor(low / stride + 1e-9),
    last = Math.max(first + 1, Math.ceil(high / stride - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * stride).toPrecision(12)));
};

/**
 * Return ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, or powers of ten alone over many decades. Low
 * and high, both above 0, lie between the first and the last.
 * @param {number} low
 * @param {number} high
 */
export const logTicks = (low, high) => {
  const first = Math.floor(Math.log10(low)),
    last = Math.ceil(Math.log10(high) + 1e-9);
  const factors = Math.log10(high / low) > 2.5 ? [1] : [1, 2, 5];
  const all = Array.from({ length: last - first + 1 }, (_, i) =>
    factors.map((factor) => factor * 10 ** (first + i)),
  ).flat();
  const from = all.findLastIndex((tick) => tick <= low * 1.000001),
    to = all.findIndex((tick) => tick >= high * 0.999999);
  const inside = all.slice(Math.max(0, from), (to < 0 ? all.length - 1 : to) + 1);
  return (inside.length > 1 ? inside : [low / 2, low * 2]).map((tick) => Number(tick.toPrecision(12)));
};

/**
 * Return a vertical axis for some values.
 * @param {number[]} values
 * @param {"linear" | "log" | "zero" | "range"} mode
 */
export const verticalAxis = (values, mode) => {
  const low = Math.min(...values),
    high = Math.max(...values);
  const isLog = mode === "log" && low > 0;
  const marks = isLog ? logTicks(low, high) : ticks(mode === "zero" ? Math.min(0, low) : low, high);
  const convert = isLog ? Math.log : (value) => value;
  const [bottom, top] = [convert(marks[0]), convert(marks[marks.length - 1])];
  return {
    ticks: marks,
    isLog,
    isBroken: !isLog && marks[0] > 0,
    /** Return the height of a value, from 0 at the bottom to 1 at the top. @param {number} value */
    share: (value) => (convert(value) - bottom) / (top - bottom),
  };
};

/** Return a number for an axis or a legend. @param {number} value */
export const formatValue = (value) => {
  const size = Math.abs(value);
  if (size < 10000 && (!value || size >= 0.001)) return String(Number(value.toPrecision(4))).replace("-", "−");
  return value
    .toExponential(Number.isInteger(Math.log10(size)) ? 0 : 1)
    .replaceAll("-", "−")
    .replace("e+", "e");
};

/**
 * Return the point of a curve that is closest to a step.
 * @param {[number, number][]} points
 * @param {number} step
 */
export const closestPoint = (points, step) =>
  points.reduce((best, point) => (Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best), points[0]);
