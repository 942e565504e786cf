/** Charts of the comparison page: scores with intervals, lines with bands. Sizes are CSS pixels: text is never scaled. */
import { formatValue, ticks, verticalAxis } from "./axis.js";
import { make, makeSvg } from "./dom.js";
import { clamp } from "./format.js";

/** @typedef {import("./compare_data.js").Estimate} Estimate */
/** @typedef {{ x: number, value: number, low?: number | null, high?: number | null }} Point */
/** @typedef {{ series: number, points: Point[] }} Line */
/**
 * @typedef {object} LineChart
 * @property {Line[]} lines
 * @property {{ x: number, text: string, note?: string }[]} marks labels of the horizontal axis
 * @property {[number, number]} range of the horizontal axis
 * @property {string} title of the horizontal axis
 * @property {"linear" | "log" | "zero" | "range"} mode of the vertical axis
 * @property {string} brokenAxis what the mark of an axis that does not begin at 0 says
 */

const COLORS = 6;
const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [260, 48, 12, 12, 40];
const NOTE_HEIGHT = 16;
const [ROW, NAME_HEIGHT, AXIS_HEIGHT, EDGE] = [22, 18, 28, 10];

/** Return the class of a series: one of six colors, dashed or dotted after that. @param {number} series */
export const seriesClass = (series) => `series-${series % COLORS} dash-${Math.floor(series / COLORS) % 3}`;

/** Return a sample of a line for a legend. @param {number} series */
export const sample = (series) => makeSvg("svg", { class: "sample", width: 26, height: 10, "aria-hidden": true },
  makeSvg("polyline", { class: seriesClass(series), points: "1,5 25,5" }),
  makeSvg("circle", { class: seriesClass(series), cx: 13, cy: 5, r: 3 }));

/** Return a legend. @param {string[]} names */
export const legend = (names) => make("ul", { class: "keys" },
  ...names.map((name, i) => make("li", {}, sample(i), make("span", { text: name, dir: "auto" }))));

/**
 * Return the horizontal scale of estimates: ticks, and the position of a value.
 * @param {Estimate[]} estimates
 * @param {number} width
 */
export const estimateScale = (estimates, width) => {
  const values = estimates.flatMap(({ value, low, high }) => [value, low, high].flatMap((x) => (x === null ? [] : [x])));
  const marks = ticks(Math.min(...values), Math.max(...values), width < 480 ? 3 : 6);
  const [first, last] = [marks[0], marks[marks.length - 1]];
  return { marks, x: (value) => EDGE + ((value - first) / (last - first)) * (width - 2 * EDGE) };
};

/**
 * Scores of all settings on one axis: a dot, its interval, and a small ring for each run of several seeds.
 * @param {{ name: string, score: import("./compare_data.js").Score, series: number }[]} rows
 * @param {number} width
 */
export const scoreChart = (rows, width) => {
  const known = rows.filter(({ score }) => score.value !== null);
  const height = known.length * (ROW + NAME_HEIGHT) + AXIS_HEIGHT;
  const svg = makeSvg("svg", { class: "scores", width, height, "aria-hidden": true });
  if (!known.length) return svg;
  const all = known.flatMap(({ score }) => [score, ...score.runs.map((value) => ({ value, low: null, high: null }))]);
  const { marks, x } = estimateScale(all, width), bottom = height - AXIS_HEIGHT;
  for (const mark of marks) {
    const anchor = mark === marks[0] ? "start" : mark === marks[marks.length - 1] ? "end" : "middle";
    svg.append(makeSvg("line", { x1: x(mark), x2: x(mark), y1: 0, y2: bottom }),
      makeSvg("text", { x: clamp(x(mark), 2, width - 2), y: height - 8, "text-anchor": anchor, text: formatValue(mark) }));
  }
  known.forEach(({ name, score, series }, i) => {
    const top = i * (ROW + NAME_HEIGHT), y = top + NAME_HEIGHT + ROW / 2, style = seriesClass(series);
    svg.append(makeSvg("text", { class: "name", x: EDGE, y: top + NAME_HEIGHT - 3, text: name }));
    if (score.low !== null && score.high !== null) {
      svg.append(makeSvg("line", { class: `whisker ${style}`, x1: x(score.low), x2: x(score.high), y1: y, y2: y }));
      for (const end of [score.low, score.high]) {
        svg.append(makeSvg("line", { class: `whisker ${style}`, x1: x(end), x2: x(end), y1: y - 4, y2: y + 4 }));
      }
    }
    if (score.runs.length > 1) {
      for (const value of score.runs) {
        if (value !== null) svg.append(makeSvg("circle", { class: `run ${style}`, cx: x(value), cy: y, r: 3 }));
      }
    }
    svg.append(makeSvg("circle", { class: `dot ${style}`, cx: x(score.value), cy: y, r: 5 }));
  });
  return svg;
};

/** Return the values that the vertical axis must contain. @param {Line[]} lines */
export const shownValues = (lines) => lines.flatMap(({ points }) => points.flatMap(({ value, low, high }) =>
  [value, low ?? value, high ?? value]));

/**
 * Return the bands of a line, each as corners: upper ends from left to right, lower ends back. A point without an
 * interval ends a band; a single point has a band without width.
 * @param {Point[]} points
 * @returns {[number, number][][]}
 */
export const bandsOf = (points) => {
  /** @type {{ x: number, low: number, high: number }[][]} */
  const runs = [[]];
  for (const { x, low, high } of points) {
    if (low == null || high == null) runs.push([]);
    else runs[runs.length - 1].push({ x, low, high });
  }
  return runs.filter(({ length }) => length).map((ends) => [
    ...ends.map(({ x, high }) => /** @type {[number, number]} */ ([x, high])),
    ...ends.reverse().map(({ x, low }) => /** @type {[number, number]} */ ([x, low])),
  ]);
};

/** @param {SVGElement} svg @param {ReturnType<typeof verticalAxis>} axis @param {(value: number) => number} y */
const drawVerticalAxis = (svg, axis, y, width, bottom, brokenAxis) => {
  for (const tick of axis.ticks) {
    svg.append(makeSvg("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      makeSvg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end", text: formatValue(tick) }));
  }
  if (axis.isBroken) {
    svg.append(makeSvg("path", { class: "break", d: `M${LEFT - 5},${bottom + 2}l4,4l2,-6l4,4` },
      makeSvg("title", { text: brokenAxis })));
  }
};

/**
 * Lines with dots and bands.
 * @param {LineChart} chart
 * @param {number} width
 */
export const lineChart = ({ lines, marks, range, title, mode, brokenAxis }, width) => {
  const hasNotes = marks.some(({ note }) => note), bottomSpace = BOTTOM + (hasNotes ? NOTE_HEIGHT : 0);
  const height = HEIGHT + (hasNotes ? NOTE_HEIGHT : 0), bottom = height - bottomSpace;
  const svg = makeSvg("svg", { width, height, "aria-hidden": true });
  const axis = verticalAxis(shownValues(lines), mode), span = range[1] - range[0] || 1;
  const x = (value) => LEFT + ((value - range[0]) / span) * (width - LEFT - RIGHT);
  const y = (value) => TOP + (1 - axis.share(value)) * (bottom - TOP);
  drawVerticalAxis(svg, axis, y, width, bottom, brokenAxis);
  for (const { x: mark, text, note } of marks) {
    svg.append(makeSvg("text", { x: x(mark), y: bottom + 18, "text-anchor": "middle", text }));
    if (note) svg.append(makeSvg("text", { class: "note", x: x(mark), y: bottom + 34, "text-anchor": "middle", text: note }));
  }
  svg.append(makeSvg("text", { x: (LEFT + width - RIGHT) / 2, y: height - 4, "text-anchor": "middle", text: title }));
  const path = (corners) => corners.map(([px, value]) => `${x(px).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  for (const { series, points } of lines) {
    for (const corners of bandsOf(points)) {
      svg.append(makeSvg("polygon", { class: `band ${seriesClass(series)}`, points: path(corners) }));
    }
  }
  for (const { series, points } of lines) {
    svg.append(makeSvg("polyline", { class: seriesClass(series), points: path(points.map((p) => [p.x, p.value])) }));
    if (points.length <= 24) {
      for (const point of points) {
        const r = points.length > 1 ? 3 : 5; // a single point has no line to be found by
        svg.append(makeSvg("circle", { class: seriesClass(series), cx: x(point.x), cy: y(point.value), r }));
      }
    }
  }
  return svg;
};
