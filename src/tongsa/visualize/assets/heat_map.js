/** One head as a heat map: only what is in sight is painted, so 512 × 512 weights scroll as smoothly as 5 × 5. */
import { colourOf, inkOn } from "./colours.js";
import { clamp } from "./elements.js";
import { font, widest, within, write } from "./lettering.js";

/** Sizes for the matrix of `chosen` in a room of width × height. */
export const heatLayout = ({ queries, keys }, width, height, zoom) => {
  const left = Math.ceil(widest(queries, 13)) + 12, wide = Math.ceil(widest(keys, 13));
  const fitted = clamp(Math.min((width - left - 4) / keys.length, (height - 90) / queries.length), 12, 64);
  const flat = wide + 8 <= fitted * zoom;
  const right = flat ? 1 : Math.ceil(wide * 0.5);
  const beside = (width - left - right) / keys.length; // leaning labels need room on the right, too
  const cell = Math.max(2, Math.floor((flat ? fitted : clamp(beside, 12, fitted)) * zoom));
  const top = flat ? 28 : Math.ceil(wide * 0.866) + 14;
  return { cell, left, top, flat, size: clamp(cell - 2, 10, 13), width: left + cell * keys.length + right, height: top + cell * queries.length + 1 };
};

export const paintHeat = (context, seen, { chosen, layout, pointed, look }) => {
  const { cell, left, top, size } = layout, { queries, keys, image } = chosen;
  const x = (key) => left + key * cell - seen.x, y = (query) => top + query * cell - seen.y;
  const sight = {
    firstKey: Math.floor(seen.x / cell), lastKey: Math.min(keys.length, Math.ceil((seen.x + seen.width - left) / cell)),
    firstQuery: Math.floor(seen.y / cell), lastQuery: Math.min(queries.length, Math.ceil((seen.y + seen.height - top) / cell)),
  };
  const every = Math.ceil(11 / cell); // labels do not lie on each other
  const lettering = (on) => font(look.sans, size, on ? 650 : 400);
  within(context, left, top, seen.width - left, seen.height - top, () => {
    context.imageSmoothingEnabled = false;
    context.drawImage(image, x(0), y(0), cell * keys.length, cell * queries.length);
    if (cell >= 10) paintGaps(context, x, y, sight, look);
    if (cell >= 38) paintFigures(context, x, y, sight, chosen, cell, look);
    if (pointed) paintPointed(context, x, y, chosen, cell, pointed, look);
  });
  within(context, 0, top, left, seen.height - top, () => {
    for (let query = sight.firstQuery - (sight.firstQuery % every); query < sight.lastQuery; query += every) {
      const on = pointed && pointed.query === query;
      context.font = lettering(on);
      write(context, queries[query], left - 8, y(query) + cell / 2, "right", on ? look.accent : look.ink, look.quiet);
    }
  });
  within(context, left - 4, 0, seen.width, top, () => {
    const from = Math.max(0, sight.firstKey - Math.ceil(top / cell)); // labels lean in from the left
    for (let key = from - (from % every); key < sight.lastKey; key += every) {
      const on = pointed && pointed.key === key;
      context.font = lettering(on);
      context.save();
      context.translate(x(key) + cell / 2, layout.flat ? top - 13 : top - 8);
      if (!layout.flat) context.rotate(-Math.PI / 3);
      write(context, keys[key], 0, 0, layout.flat ? "center" : "left", on ? look.accent : look.ink, look.quiet);
      context.restore();
    }
  });
};

const paintGaps = (context, x, y, { firstKey, lastKey, firstQuery, lastQuery }, look) => {
  context.fillStyle = look.paper;
  for (let key = firstKey; key <= lastKey; key++) context.fillRect(x(key) - 0.5, y(firstQuery), 1, y(lastQuery) - y(firstQuery));
  for (let query = firstQuery; query <= lastQuery; query++) context.fillRect(x(firstKey), y(query) - 0.5, x(lastKey) - x(firstKey), 1);
};

const paintFigures = (context, x, y, { firstKey, lastKey, firstQuery, lastQuery }, { weights, keys, most }, cell, look) => {
  context.font = font(look.sans, cell >= 50 ? 13 : 12);
  context.textAlign = "center";
  for (let query = firstQuery; query < lastQuery; query++) {
    for (let key = firstKey; key < lastKey; key++) {
      const weight = weights[query * keys.length + key];
      if (weight < 0.005) continue;
      context.fillStyle = inkOn(colourOf(weight, most));
      context.fillText(weight.toFixed(2).replace(/^0/, ""), x(key) + cell / 2, y(query) + cell / 2 + 0.5);
    }
  }
};

const paintPointed = (context, x, y, { keys, queries }, cell, { query, key }, look) => {
  context.strokeStyle = look.accent;
  context.lineWidth = 1.5;
  context.globalAlpha = query !== null && key !== null ? 0.45 : 1;
  if (query !== null) context.strokeRect(x(0), y(query), cell * keys.length, cell);
  if (key !== null) context.strokeRect(x(key), y(0), cell, cell * queries.length);
  context.globalAlpha = 1;
  if (query === null || key === null) return;
  context.strokeStyle = look.ink;
  context.lineWidth = 2;
  context.strokeRect(x(key), y(query), cell, cell);
};

/** The query and key at a place of the stage, or one of them on a label; null outside. */
export const heatUnder = (x, y, { scrollLeft, scrollTop }, { queries, keys }, layout) => {
  const key = x < layout.left ? null : Math.floor((x + scrollLeft - layout.left) / layout.cell);
  const query = y < layout.top ? null : Math.floor((y + scrollTop - layout.top) / layout.cell);
  if ((key === null && query === null) || key >= keys.length || query >= queries.length) return null;
  return { query, key };
};
