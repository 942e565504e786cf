/** Section of the weights: histograms of all matrices; rows are modules, columns are symbols such as W^Q. */
import { make, makeSvg } from "./dom.js";
import { histogramPath, number } from "./inspect_data.js";
import { columnHeader, dataTable, rowHeader, scrollRegion } from "./inspect_markup.js";

/** @typedef {import("./inspect.js").View} View */

const [WIDTH, HEIGHT] = [84, 36];
/** Symbol of matrices that are shown as they are. */
const OTHER = "W";

/** Return a symbol such as W^Q or U_r as text with a superscript or a subscript. @param {string} symbol */
const symbolNode = (symbol) => {
  const [base, mark, script] = symbol.split(/([\^_])/);
  return make("span", {}, base, ...(mark ? [make(mark === "^" ? "sup" : "sub", { text: script })] : []));
};

/** Return a path that may break after a dot or an underscore. @param {string} path */
const pathNode = (path) => make("span", {}, ...path.split(/(?<=[._])/).flatMap((part) => [part, make("wbr")]));

/**
 * Draw a histogram with its standard deviation.
 * @param {any} matrix
 * @param {number} range largest value of the horizontal axis
 * @param {any} words
 */
export const histogram = (matrix, range, words) => {
  const label = words.histogram(...[matrix.mean, matrix.deviation, matrix.largest].map(number));
  const size = { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` };
  const svg = makeSvg("svg", { class: "histogram", role: "img", "aria-label": label, ...size },
    makeSvg("title", { text: label }),
    makeSvg("line", { x1: WIDTH / 2, x2: WIDTH / 2, y1: 0, y2: HEIGHT }),
    makeSvg("path", { d: histogramPath(matrix, range, WIDTH, HEIGHT - 1) }));
  return make("figure", {}, svg, make("figcaption", { text: `σ ${number(matrix.deviation)}` }));
};

/** Return the largest value of each symbol, over all models. @param {any} data @returns {Record<string, number>} */
export const symbolRanges = (data) => {
  /** @type {Record<string, number>} */
  const ranges = {};
  for (const { symbol, largest } of data.runs.flatMap((run) => run.matrices)) {
    ranges[symbol] = Math.max(ranges[symbol] ?? 0, largest);
  }
  return ranges;
};

/**
 * Group matrices into tables: modules with the same symbols share one.
 * @param {any[]} matrices
 * @returns {Map<string, [string, any[]][]>} symbols → rows of path and matrices
 */
export const groupMatrices = (matrices) => {
  /** @type {Map<string, any[]>} */
  const modules = new Map(), tables = new Map();
  for (const matrix of matrices) modules.set(matrix.path, [...(modules.get(matrix.path) ?? []), matrix]);
  for (const [path, row] of modules) {
    const key = row.map(({ symbol }) => symbol).join(" ");
    tables.set(key, [...(tables.get(key) ?? []), [path, row]]);
  }
  return tables;
};

/**
 * Draw the matrices of one model.
 * @param {View} view
 * @param {any} run
 * @param {Record<string, number>} ranges largest value of each symbol
 */
export const weightsOf = ({ words }, run, ranges) => {
  const cell = (matrix) => make("td", {}, histogram(matrix, ranges[matrix.symbol], words));
  const table = ([key, rows]) => dataTable({ class: "weights" },
    [columnHeader(words.module), ...key.split(" ").map((symbol) => columnHeader(symbolNode(symbol)))],
    rows.map(([path, row]) => make("tr", {}, rowHeader(pathNode(path), { class: "path" }), ...row.map(cell))));
  const tables = [...groupMatrices(run.matrices)], main = tables.filter(([key]) => key !== OTHER);
  const rest = tables.filter(([key]) => key === OTHER).map((group) => make("details", main.length ? {} : { open: "" },
    make("summary", { text: `${words.others} (${group[1].length})` }), table(group)));
  return scrollRegion(words.weights, ...main.map(table), ...rest);
};
