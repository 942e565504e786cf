/** Text on a canvas: fonts, widths, and token labels with a dot for the space before a word. */
import { css } from "./dom.js";
import { SPACE, truncate } from "./format.js";

/** @typedef {{ink: string, quiet: string, paper: string, accent: string, sans: string}} Theme */

const MAX_LABEL_LENGTH = 16;
/** A thin dot in place of SentencePiece's "▁", which would hang below a rotated label. */
export const SPACE_DOT = "·";

/** Return a token as it is shown: a leading "▁" becomes a dot. @param {string} token */
export const displayToken = (token) => (token.startsWith(SPACE) ? SPACE_DOT + token.slice(SPACE.length) : token);

/** Return the colors and the font of the page. @returns {Theme} */
export const themeColors = () => ({
  ink: css("--ink"),
  quiet: css("--quiet"),
  paper: css("--paper"),
  accent: css("--accent"),
  sans: css("--sans"),
});

/** Return a canvas font. @param {string} sans @param {number} size @param {number} [weight] */
export const font = (sans, size, weight = 400) => `${weight} ${size}px ${sans}`;

/** @type {CanvasRenderingContext2D | null} */
let measuring = null;

/** Return the width of the widest label in CSS pixels. @param {string[]} labels @param {number} size */
export const maxLabelWidth = (labels, size) => {
  const context = (measuring ??= /** @type {CanvasRenderingContext2D} */ (
    document.createElement("canvas").getContext("2d")
  ));
  context.font = font(css("--sans"), size, 600);
  const width = (label) => context.measureText(truncate(displayToken(label), MAX_LABEL_LENGTH)).width;
  return labels.reduce((max, label) => Math.max(max, width(label)), 0);
};

/**
 * Draw a token's label; the dot of a word's start is dimmed so that the letters stand out. A lone dot is not.
 * @param {CanvasRenderingContext2D} context
 * @param {string} label
 * @param {number} x
 * @param {number} y
 * @param {"left" | "center" | "right"} align
 * @param {string} ink
 * @param {string} quiet
 */
export const drawLabel = (context, label, x, y, align, ink, quiet) => {
  const text = truncate(displayToken(label), MAX_LABEL_LENGTH),
    mark = label.startsWith(SPACE) && label !== SPACE ? SPACE_DOT : "";
  const rest = text.slice(mark.length);
  const markWidth = context.measureText(mark).width,
    width = markWidth + context.measureText(rest).width;
  const start = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
  context.textAlign = "left";
  context.fillStyle = quiet;
  context.fillText(mark, start, y);
  context.fillStyle = ink;
  context.fillText(rest, start + markWidth, y);
};

/**
 * Run `paint` with the canvas clipped to a rectangle.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {() => void} paint
 */
export const clipped = (context, x, y, width, height, paint) => {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  paint();
  context.restore();
};
