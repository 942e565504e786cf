/** Charts of the corpus report: a histogram with its cuts, a bar of shares. Sizes are CSS pixels. */
import { ticks } from "./axis.js";
import { compact } from "./compare_data.js";
import { shownBins, sum } from "./corpus_data.js";
import { make, makeSvg } from "./dom.js";
import { clamp } from "./format.js";

/**
 * @typedef {object} HistogramChart
 * @property {number[]} edges
 * @property {{ style: string, counts: number[] }[]} layers from bottom to top
 * @property {number | null} low position of the smallest value that is kept, in bins
 * @property {number | null} high position of the largest
 * @property {(edge: number) => string} label text of an edge; "" for an edge without a label
 * @property {string} title of the horizontal axis
 */

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [190, 52, 14, 18, 40];
/** Estimated width of a letter of a label, and the space between labels. */
const [LETTER_WIDTH, GAP] = [7, 14];

/**
 * Return the edges whose labels are drawn: the labels that are not empty, as far apart as they are wide.
 * @param {string[]} labels
 * @param {number} binWidth
 */
export const labelledEdges = (labels, binWidth) => {
  const named = labels.flatMap((label, i) => (label ? [i] : []));
  if (named.length < 2) return named;
  const widest = Math.max(...labels.map((label) => label.length)) * LETTER_WIDTH + GAP;
  const step = Math.max(1, Math.ceil(widest / (binWidth * (named[1] - named[0]))));
  return named.filter((_, i) => i % step === 0);
};

/** The range outside a cut, and the line of the cut. @param {SVGElement} svg */
const drawCut = (svg, position, end, bottom) => {
  const [left, width] = [Math.min(position, end), Math.abs(end - position)];
  svg.append(makeSvg("rect", { class: "outside", x: left, y: TOP, width, height: bottom - TOP }),
    makeSvg("line", { class: "cut", x1: position, x2: position, y1: TOP - 8, y2: bottom }));
};

/**
 * Bars of counts, one above the other, with the cuts of a filter.
 * @param {HistogramChart} chart
 * @param {number} width
 */
export const histogramChart = ({ edges, layers, low, high, label, title }, width) => {
  const [first, last] = shownBins(layers.map(({ counts }) => counts), [low, high]);
  const svg = makeSvg("svg", { class: "histogram", width, height: HEIGHT, "aria-hidden": true });
  const bottom = HEIGHT - BOTTOM, binWidth = (width - LEFT - RIGHT) / Math.max(1, last - first);
  const totals = edges.slice(1).map((_, bin) => sum(layers.map(({ counts }) => counts[bin])));
  const marks = ticks(0, Math.max(1, ...totals));
  const x = (position) => LEFT + (position - first) * binWidth;
  const y = (value) => bottom - (value / marks[marks.length - 1]) * (bottom - TOP);
  for (const mark of marks) {
    svg.append(makeSvg("line", { x1: LEFT, x2: width - RIGHT, y1: y(mark), y2: y(mark) }),
      makeSvg("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end", text: compact(mark) }));
  }
  if (low !== null && low > first) drawCut(svg, x(low), x(first), bottom);
  if (high !== null && high < last) drawCut(svg, x(high), x(last), bottom);
  for (let bin = first; bin < last; bin += 1) {
    let base = bottom;
    for (const { style, counts } of layers) {
      if (!counts[bin]) continue;
      const height = Math.max(1.5, bottom - y(counts[bin])); // a rare value stays visible
      base -= height;
      svg.append(makeSvg("rect", { class: style, x: x(bin) + 0.5, y: base, width: Math.max(0.5, binWidth - 1), height }));
    }
  }
  const labels = edges.slice(first, last + 1).map(label);
  for (const i of labelledEdges(labels, binWidth)) {
    const half = (labels[i].length * LETTER_WIDTH) / 2;
    svg.append(makeSvg("text", { x: clamp(x(first + i), half, width - half), y: bottom + 17, "text-anchor": "middle", text: labels[i] }));
  }
  svg.append(makeSvg("text", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle", text: title }));
  return svg;
};

/**
 * One bar of several parts.
 * @param {{ style: string, count: number }[]} parts
 */
export const partsBar = (parts) => make("div", { class: "parts", "aria-hidden": "true" },
  ...parts.filter(({ count }) => count).map(({ style, count }) => make("span", { class: style, style: `flex-grow: ${count}` })));
