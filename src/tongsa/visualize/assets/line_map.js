/** One head as lines: who reads on the left, what is read on the right. */
import { clamp } from "./elements.js";
import { font, widest, write } from "./lettering.js";
import { strongest } from "./weights.js";

const MOST = 1200;
/** More lines than this are neither seen apart nor drawn within a frame: the strongest are. */
const GRADES = 12;
/** Of strength: all lines of one are drawn in a single stroke. */

export const lineLayout = ({ queries, keys }, width, height, zoom) => {
  const fitted = clamp(height / Math.max(queries.length, keys.length), 18, 28);
  const row = Math.max(14, Math.round(fitted * zoom)), size = clamp(row - 7, 11, 15), figures = 48;
  const left = Math.ceil(widest(queries, size)) + figures + 18, right = Math.ceil(widest(keys, size)) + figures + 18;
  const across = Math.max(left + right + 100, Math.min(width, 680)), down = row * Math.max(queries.length, keys.length);
  // the shorter side is spread out, so that a straight translation gives straight lines
  const spread = (count) => Math.min(2 * row, down / count), begin = (count) => 4 + (down - spread(count) * count) / 2;
  const sides = { query: queries.length, key: keys.length };
  const rows = Object.fromEntries(Object.entries(sides).map(([side, n]) => [side, { step: spread(n), begin: begin(n) }]));
  return { row, rows, size, left, right, width: across, height: down + 8 };
};

/** The lines to draw: of what is pointed at all that can be seen, otherwise the strongest. */
const wanted = (chosen, pointed) => {
  const { queries, keys, weights, most } = chosen;
  if (!pointed) return (chosen.lines ??= strongest(weights, 0.01 * most, MOST)); // found once for a head
  const all = pointed.query !== null
    ? keys.map((_, key) => pointed.query * keys.length + key)
    : queries.map((_, query) => query * keys.length + pointed.key);
  return all.filter((at) => weights[at] >= 0.001);
};

export const paintLines = (context, seen, { chosen, layout, pointed, look }) => {
  const { row, rows, left, right, width, size } = layout, { queries, keys, weights, most } = chosen;
  const place = (side) => (i) => rows[side].begin + rows[side].step * (i + 0.5) - seen.y;
  const queryY = place("query"), keyY = place("key"), from = left - seen.x, to = width - right - seen.x, middle = (from + to) / 2;
  const inSight = (y) => y >= 0 && y <= seen.height; // a line between two words that are not tells nobody anything
  const grades = Array.from({ length: GRADES + 1 }, () => []);
  for (const at of wanted(chosen, pointed)) {
    const a = queryY(Math.floor(at / keys.length)), b = keyY(at % keys.length);
    if (inSight(a) || inSight(b)) grades[Math.ceil(Math.min(1, weights[at] / most) * GRADES)].push([a, b]);
  }
  context.strokeStyle = look.accent;
  grades.forEach((lines, grade) => {
    context.globalAlpha = grade / GRADES;
    context.lineWidth = 1 + (3 * grade) / GRADES;
    context.beginPath();
    for (const [a, b] of lines) {
      context.moveTo(from, a);
      context.bezierCurveTo(middle, a, middle, b, to, b);
    }
    context.stroke();
  });
  context.globalAlpha = 1;
  const label = (text, i, side) => {
    const y = place(side)(i);
    if (y < -row || y > seen.height + row) return;
    const isQuery = side === "query", on = pointed && pointed[side] === i, other = pointed && pointed[side] === null;
    const weight = !other ? 0 : isQuery ? weights[i * keys.length + pointed.key] : weights[pointed.query * keys.length + i];
    context.font = font(look.sans, size, on || (other && weight >= 0.5 * most) ? 650 : 400);
    const ink = on ? look.accent : pointed && !(other && weight >= 0.005) ? look.quiet : look.ink;
    write(context, text, isQuery ? from - 10 : to + 10, y, isQuery ? "right" : "left", ink, look.quiet);
    if (!other || weight < 0.0005) return;
    context.font = font(look.sans, 12);
    context.fillStyle = look.quiet;
    context.textAlign = isQuery ? "left" : "right";
    context.fillText(weight.toFixed(3), isQuery ? 2 - seen.x : width - 2 - seen.x, y);
  };
  queries.forEach((text, i) => label(text, i, "query"));
  keys.forEach((text, i) => label(text, i, "key"));
};

/** The word at a place of the stage; null between the sides. */
export const lineUnder = (x, y, { scrollLeft, scrollTop }, { queries, keys }, layout) => {
  const across = x + scrollLeft, side = across <= layout.left ? "query" : across >= layout.width - layout.right ? "key" : "";
  if (!side) return null;
  const i = Math.floor((y + scrollTop - layout.rows[side].begin) / layout.rows[side].step);
  if (i < 0 || i >= (side === "query" ? queries : keys).length) return null;
  return { query: null, key: null, [side]: i };
};
