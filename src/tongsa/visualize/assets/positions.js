/** Positions panel: the values of the positional encodings, and the cosine similarity of each pair of positions. */
import { bitmap, colorGradient } from "./colors.js";
import { ARROWS, hasNoModifier, make, onThemeChange } from "./dom.js";
import { clamp, signed } from "./format.js";
import { WORDS } from "./view_words.js";
import { unpackUint16 } from "./weights.js";

/** @typedef {import("./types.d.ts").PackedMatrix} PackedMatrix */

/** Packed values run from 0 (−max_abs) to this (max_abs). */
const PACKED_MAX = 65534;

/** Return a packed matrix as signed numbers. @param {PackedMatrix} matrix */
const unpackSigned = async ({ packed, max_abs: maxAbs }) =>
  Float32Array.from(await unpackUint16(packed), (number) => ((number / PACKED_MAX) * 2 - 1) * maxAbs);

/**
 * Return sinusoids: dimensions 2i and 2i + 1 are sine and cosine of position / 10000^(2i / width).
 * @param {number} positions
 * @param {number} width
 */
export const sinusoids = (positions, width) =>
  Float32Array.from({ length: positions * width }, (_, index) => {
    const dimension = index % width,
      angle = Math.floor(index / width) / 10000 ** ((dimension - (dimension % 2)) / width);
    return dimension % 2 ? Math.cos(angle) : Math.sin(angle);
  });

/**
 * Return the cosine similarity of each pair of rows.
 * @param {ArrayLike<number>} values
 * @param {number} rows
 * @param {number} width
 */
export const cosineSimilarity = (values, rows, width) => {
  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += values[a * width + i] * values[b * width + i];
    return sum;
  };
  const norms = Array.from({ length: rows }, (_, row) => Math.sqrt(dot(row, row)) || 1);
  const similarity = new Float32Array(rows * rows);
  for (let a = 0; a < rows; a++)
    for (let b = 0; b < rows; b++) similarity[a * rows + b] = dot(a, b) / (norms[a] * norms[b]);
  return similarity;
};

/** Return the legend of a diverging scale. @param {number} max */
const legend = (max) => {
  const number = Number(max.toPrecision(3)),
    ramp = make("span", { class: "ramp", "aria-hidden": true });
  ramp.style.background = colorGradient("diverging");
  const marks = [`−${number}`, "0", String(number)].map((text) => make("span", { text }));
  return make("div", { class: "scale" }, ramp, make("div", { class: "scale-marks figure" }, ...marks));
};

/**
 * Return a signed matrix as an image; the caption shows the value under the pointer or at the cursor of the keys.
 * @param {string} style
 * @param {{values: Promise<Float32Array>, max: number, rows: number, columns: number}} matrix
 * @param {{caption: string, keys: string, describe: (row: number, column: number, value: string) => string}} texts
 * @param {AbortSignal} [signal]
 */
const matrixFigure = (style, { values, max, rows, columns }, { caption, keys, describe }, signal) => {
  const canvas = make("canvas", { role: "application", tabindex: 0, "aria-label": `${caption}. ${keys}` });
  const cursor = make("span", { class: "cursor", "aria-hidden": true }),
    text = make("figcaption", { text: caption, role: "status" });
  const figure = make("figure", { class: style }, make("div", { class: "frame" }, canvas, cursor), legend(max), text);
  const cell = { row: 0, column: 0 };
  const paint = async () => {
    const image = bitmap(await values, rows, columns, max, "diverging");
    [canvas.width, canvas.height] = [columns, rows];
    canvas.getContext("2d")?.drawImage(image, 0, 0);
  };
  const show = async (row, column) => {
    Object.assign(cell, { row: clamp(row, 0, rows - 1), column: clamp(column, 0, columns - 1) });
    text.textContent = describe(cell.row, cell.column, signed((await values)[cell.row * columns + cell.column]));
    const box = { left: cell.column / columns, top: cell.row / rows, width: 1 / columns, height: 1 / rows };
    for (const [side, share] of Object.entries(box)) cursor.style[side] = `${share * 100}%`;
    cursor.hidden = false;
  };
  const leave = () => {
    text.textContent = caption;
    cursor.hidden = true;
  };
  cursor.hidden = true;
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      show(Math.floor(((event.clientY - top) / height) * rows), Math.floor(((event.clientX - left) / width) * columns));
    },
    { signal },
  );
  canvas.addEventListener("pointerleave", leave, { signal });
  canvas.addEventListener("blur", leave, { signal });
  canvas.addEventListener("focus", () => show(cell.row, cell.column), { signal });
  canvas.addEventListener(
    "keydown",
    (event) => {
      if (!ARROWS[event.key] || !hasNoModifier(event)) return;
      event.preventDefault();
      const [down, right] = ARROWS[event.key],
        stride = event.shiftKey ? 10 : 1;
      show(cell.row + down * stride, cell.column + right * stride);
    },
    { signal },
  );
  paint();
  return figure;
};

/**
 * Draw into `root` the data of tongsa.visualize.positions.page_data.
 * @param {ShadowRoot | HTMLElement} root
 * @param {import("./types.d.ts").PositionsResponse} data
 * @param {import("./view_words.js").PanelOptions} [options]
 * @returns {import("./view_words.js").Panel}
 */
export const draw = (root, data, { language = "en", signal } = {}) => {
  const plots = make("div", { class: "plots" });
  root.append(plots);
  let words = WORDS[language].positions;
  const section = (table) => {
    const { positions, width, kind, layout } = table,
      { keys } = words;
    const values = table.values ? unpackSigned(table.values) : Promise.resolve(sinusoids(positions, width));
    const similarity = values.then((numbers) => cosineSimilarity(numbers, positions, width));
    const valueTexts = { caption: words.values(positions, width), keys, describe: words.cell };
    const pairTexts = { caption: words.similarity, keys, describe: words.pair };
    const users = table.used_by.map((part) => words.usedBy[part] ?? part).join(", ");
    return make(
      "section",
      {},
      make("h2", { text: `${words.kinds[kind]} · ${users}` }),
      make("p", { class: "quiet", text: words.explanation[kind === "sinusoidal" && layout === "blocks" ? "blocks" : kind] }),
      make(
        "div",
        { class: "pictures" },
        matrixFigure(
          "table",
          { values, max: table.values?.max_abs ?? 1, rows: positions, columns: width },
          valueTexts,
          signal,
        ),
        matrixFigure(
          "similarity",
          { values: similarity, max: 1, rows: positions, columns: positions },
          pairTexts,
          signal,
        ),
      ),
    );
  };
  const show = () => plots.replaceChildren(...data.tables.map(section));
  onThemeChange(show, signal);
  show();
  return {
    setLanguage: (next) => {
      words = WORDS[next].positions;
      show();
    },
    setSentence: () => {},
  };
};
