/** Loss curves of all models on one logarithmic time axis, with the chosen time as a line. */
import { formatValue, verticalAxis } from "./axis.js";
import { make, makeSvg } from "./dom.js";

/** @typedef {import("./family_data.js").Column} Column */
/** @typedef {import("./family_data.js").TimeUnit} TimeUnit */
/** @typedef {import("./family_view.js").FamilyWords} FamilyWords */

const HEIGHT = 240, LEFT = 40, RIGHT = 12, TOP = 12, BOTTOM = 40;
const SECONDS_PER_MINUTE = 60;

/** Return the ticks 0, 1, 2, 5, 10 … up to a value. @param {number} last @param {number} first smallest after 0 */
export const logTicks = (last, first) => {
  const ticks = [0];
  for (let unit = first; unit <= last; unit *= 10) ticks.push(unit, 2 * unit, 5 * unit);
  return ticks.filter((tick) => tick <= last);
};

/** @param {Column[]} columns @param {TimeUnit} unit @param {number} width */
const scales = (columns, unit, width) => {
  const points = columns.flatMap(({ loss, dev_loss: devLoss }) => [...loss, ...devLoss]);
  const axis = unit === "steps" ? 0 : 1, last = Math.max(1, ...points.map((point) => point[axis]));
  const vertical = verticalAxis(points.map((point) => point[2]), "linear");
  const start = unit === "steps" ? 1 : 0.5; // the axis is linear below this time
  const position = (time) => Math.log1p(Math.min(time, last) / start) / Math.log1p(last / start);
  return {
    axis, last, ticks: vertical.ticks,
    x: (time) => LEFT + position(time) * (width - LEFT - RIGHT),
    y: (loss) => TOP + (1 - vertical.share(loss)) * (HEIGHT - TOP - BOTTOM),
    /** @param {number} x */
    timeAt: (x) => start * Math.expm1(((x - LEFT) / (width - LEFT - RIGHT)) * Math.log1p(last / start)),
  };
};

/**
 * @param {ReturnType<typeof scales>} scale
 * @param {TimeUnit} unit
 * @param {number} width
 * @param {FamilyWords} labels
 */
const axes = ({ x, y, last, ticks }, unit, width, labels) => {
  const seconds = unit === "minutes", divisor = seconds ? SECONDS_PER_MINUTE : 1;
  let free = 0; // labels must not overlap
  const times = logTicks(last / divisor, seconds ? 0.1 : 1).flatMap((tick) => {
    const position = x(tick * divisor);
    if (position < free) return [];
    free = position + 34;
    return [makeSvg("text", { x: position, y: HEIGHT - 22, "text-anchor": "middle", text: tick.toLocaleString("en") })];
  });
  const losses = ticks.flatMap((value) => [
    makeSvg("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
    makeSvg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", text: formatValue(value) })]);
  const title = seconds ? labels.curveMinutes : labels.curveSteps;
  const middle = (LEFT + width - RIGHT) / 2;
  return [...losses, ...times, makeSvg("text", { x: middle, y: HEIGHT - 4, "text-anchor": "middle", text: title })];
};

/**
 * Draw the curves at a width in pixels. `showTime` moves the line.
 * @param {Column[]} columns
 * @param {{ unit: TimeUnit, width: number, labels: FamilyWords, choose: (time: number) => void }} options
 */
export const drawCurves = (columns, { unit, width, labels, choose }) => {
  const scale = scales(columns, unit, width), { axis, x, y } = scale;
  const svg = makeSvg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": true });
  svg.append(...axes(scale, unit, width, labels));
  columns.forEach(({ family, loss, dev_loss: devLoss }, i) => {
    const isRepeated = columns.slice(0, i).some((other) => other.family.key === family.key);
    const points = loss.map((point) => `${x(point[axis]).toFixed(1)},${y(point[2]).toFixed(1)}`).join(" ");
    svg.append(makeSvg("polyline", { class: `of-${family.key}${isRepeated ? " dashed" : ""}`, points }));
    for (const point of devLoss) {
      svg.append(makeSvg("circle", { class: `of-${family.key}`, cx: x(point[axis]), cy: y(point[2]), r: 3 }));
    }
  });
  const cursor = makeSvg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
  svg.append(cursor);
  svg.addEventListener("click", (event) => choose(scale.timeAt(event.clientX - svg.getBoundingClientRect().left)));
  /** @param {number} time */
  const showTime = (time) => { for (const side of ["x1", "x2"]) cursor.setAttribute(side, String(x(time))); };
  return { svg, showTime };
};

/** Names and last losses, also for readers who cannot see the curves. @param {Column[]} columns */
export const curveLegend = (columns) => make("ul", { class: "keys" }, ...columns.filter(({ loss }) => loss.length).map(
  ({ name, family, loss }) => make("li", { class: `of-${family.key}` }, make("i", { "aria-hidden": "true" }),
    `${name} `, make("b", { text: loss[loss.length - 1][2].toFixed(2) }))));
