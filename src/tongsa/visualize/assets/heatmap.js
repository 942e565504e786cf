/** One head as a heatmap. Only the visible part is painted, so 512 × 512 weights scroll as smoothly as 5 × 5. */
import { clipped, drawLabel, font, maxLabelWidth } from "./canvas_text.js";
import { colorOf, textColorOn } from "./colors.js";
import { clamp } from "./format.js";

/** Cell size and margins of a head's matrix in an area of width × height. */
export const heatmapLayout = ({ queries, keys }, width, height, zoom) => {
  const left = Math.ceil(maxLabelWidth(queries, 13)) + 12, keyWidth = Math.ceil(maxLabelWidth(keys, 13));
  const fitting = clamp(Math.min((width - left - 4) / keys.length, (height - 90) / queries.length), 12, 64);
  const horizontal = keyWidth + 8 <= fitting * zoom;
  const right = horizontal ? 1 : Math.ceil(keyWidth * 0.5);
  const rotatedCell = (width - left - right) / keys.length; // rotated labels also need space on the right
  const cell = Math.max(2, Math.floor((horizontal ? fitting : clamp(rotatedCell, 12, fitting)) * zoom));
  const top = horizontal ? 28 : Math.ceil(keyWidth * 0.866) + 14;
  return { cell, left, top, horizontal, size: clamp(cell - 2, 10, 13), width: left + cell * keys.length + right, height: top + cell * queries.length + 1 };
};

export const paintHeatmap = (context, viewport, { head, layout, hovered, theme }) => {
  const { cell, left, top, size } = layout, { queries, keys, image } = head;
  const x = (key) => left + key * cell - viewport.x, y = (query) => top + query * cell - viewport.y;
  const visible = {
    firstKey: Math.floor(viewport.x / cell), lastKey: Math.min(keys.length, Math.ceil((viewport.x + viewport.width - left) / cell)),
    firstQuery: Math.floor(viewport.y / cell), lastQuery: Math.min(queries.length, Math.ceil((viewport.y + viewport.height - top) / cell)),
  };
  const labelStride = Math.ceil(11 / cell); // labels must not overlap
  const labelFont = (isHovered) => font(theme.sans, size, isHovered ? 650 : 400);
  clipped(context, left, top, viewport.width - left, viewport.height - top, () => {
    context.imageSmoothingEnabled = false;
    context.drawImage(image, x(0), y(0), cell * keys.length, cell * queries.length);
    if (cell >= 10) paintGrid(context, x, y, visible, theme);
    if (cell >= 38) paintNumbers(context, x, y, visible, head, cell, theme);
    if (hovered) paintHovered(context, x, y, head, cell, hovered, theme);
  });
  clipped(context, 0, top, left, viewport.height - top, () => {
    for (let query = visible.firstQuery - (visible.firstQuery % labelStride); query < visible.lastQuery; query += labelStride) {
      const isHovered = hovered && hovered.query === query;
      context.font = labelFont(isHovered);
      drawLabel(context, queries[query], left - 8, y(query) + cell / 2, "right", isHovered ? theme.accent : theme.ink, theme.quiet);
    }
  });
  clipped(context, left - 4, 0, viewport.width, top, () => {
    const from = Math.max(0, visible.firstKey - Math.ceil(top / cell)); // rotated labels of keys further left reach into view
    for (let key = from - (from % labelStride); key < visible.lastKey; key += labelStride) {
      const isHovered = hovered && hovered.key === key;
      context.font = labelFont(isHovered);
      context.save();
      context.translate(x(key) + cell / 2, layout.horizontal ? top - 13 : top - 8);
      if (!layout.horizontal) context.rotate(-Math.PI / 3);
      drawLabel(context, keys[key], 0, 0, layout.horizontal ? "center" : "left", isHovered ? theme.accent : theme.ink, theme.quiet);
      context.restore();
    }
  });
};

const paintGrid = (context, x, y, { firstKey, lastKey, firstQuery, lastQuery }, theme) => {
  context.fillStyle = theme.paper;
  for (let key = firstKey; key <= lastKey; key++) context.fillRect(x(key) - 0.5, y(firstQuery), 1, y(lastQuery) - y(firstQuery));
  for (let query = firstQuery; query <= lastQuery; query++) context.fillRect(x(firstKey), y(query) - 0.5, x(lastKey) - x(firstKey), 1);
};

const paintNumbers = (context, x, y, { firstKey, lastKey, firstQuery, lastQuery }, { weights, keys, max }, cell, theme) => {
  context.font = font(theme.sans, cell >= 50 ? 13 : 12);
  context.textAlign = "center";
  for (let query = firstQuery; query < lastQuery; query++) {
    for (let key = firstKey; key < lastKey; key++) {
      const weight = weights[query * keys.length + key];
      if (weight < 0.005) continue;
      context.fillStyle = textColorOn(colorOf(weight, max));
      context.fillText(weight.toFixed(2).replace(/^0/, ""), x(key) + cell / 2, y(query) + cell / 2 + 0.5);
    }
  }
};

const paintHovered = (context, x, y, { keys, queries }, cell, { query, key }, theme) => {
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.globalAlpha = query !== null && key !== null ? 0.45 : 1;
  if (query !== null) context.strokeRect(x(0), y(query), cell * keys.length, cell);
  if (key !== null) context.strokeRect(x(key), y(0), cell, cell * queries.length);
  context.globalAlpha = 1;
  if (query === null || key === null) return;
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.strokeRect(x(key), y(query), cell, cell);
};

/** The query and key at a point, or one of them on a label; null outside. */
export const heatmapCellAt = (x, y, { scrollLeft, scrollTop }, { queries, keys }, layout) => {
  const key = x < layout.left ? null : Math.floor((x + scrollLeft - layout.left) / layout.cell);
  const query = y < layout.top ? null : Math.floor((y + scrollTop - layout.top) / layout.cell);
  if ((key === null && query === null) || key >= keys.length || query >= queries.length) return null;
  return { query, key };
};
