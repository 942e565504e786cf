/**
 * Color scales of matrices. "sequential" is for weights from 0: one hue, lightness alone shows the value, so it works
 * in gray print and for color-blind readers. "diverging" is for signed values: orange below zero, blue above.
 */
import { isDark } from "./dom.js";
import { clamp } from "./format.js";

/** @typedef {"sequential" | "diverging"} Scale */
/** @typedef {[number, number, number]} RGB */

const STOPS = {
  sequential: {
    light: ["f4f6fa", "d5e3f6", "a6c7ed", "6ea2dd", "3c78c4", "1f4f97", "0d2a5b"],
    dark: ["181d25", "1b2f4c", "224a7c", "2f6bb3", "5593dd", "94c0f5", "e4f0ff"],
  },
  diverging: {
    light: ["6f2c05", "b3570e", "e3995a", "f6d5b4", "f7f7f5", "c6dbf4", "74a6de", "2f6bb8", "0f3568"],
    dark: ["ffd9b0", "ef9f58", "b0621f", "5e3413", "181d25", "1c3d68", "2f6bb3", "74adf0", "dcebff"],
  },
};

/** Return the colors of a scale as hexadecimal numbers, from the smallest value to the largest. @param {Scale} [scale] */
export const colorStops = (scale = "sequential") => STOPS[scale][isDark() ? "dark" : "light"];

/** Return a CSS gradient of a scale, for a legend. @param {Scale} [scale] */
export const colorGradient = (scale = "sequential") =>
  `linear-gradient(to right, ${colorStops(scale)
    .map((hex) => `#${hex}`)
    .join(", ")})`;

/**
 * Interpolate between color stops; returns 256 colors.
 * @param {string[]} stops
 * @returns {RGB[]}
 */
export const interpolate = (stops) => {
  const colors = stops.map((hex) => [0, 2, 4].map((offset) => parseInt(hex.slice(offset, offset + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const position = (i / 255) * (colors.length - 1),
      from = Math.min(Math.floor(position), colors.length - 2);
    const mix = (channel) =>
      colors[from][channel] + (position - from) * (colors[from + 1][channel] - colors[from][channel]);
    return /** @type {RGB} */ ([0, 1, 2].map((channel) => Math.round(mix(channel))));
  });
};

/** Stops → their 256 colors. @type {Map<string[], RGB[]>} */
const tables = new Map();
const colorTable = (scale) => {
  const stops = colorStops(scale);
  if (!tables.has(stops)) tables.set(stops, interpolate(stops));
  return /** @type {RGB[]} */ (tables.get(stops));
};

/**
 * Return the index of a value in a table of 256 colors.
 * @param {number} value from 0 to `max`, or from −max to max on a diverging scale
 * @param {number} max
 * @param {Scale} [scale]
 */
export const colorIndex = (value, max, scale = "sequential") => {
  const share = scale === "diverging" ? (value / max + 1) / 2 : value / max;
  return Math.round(clamp(share, 0, 1) * 255) || 0; // not a number: the first color
};

/** Return the color of a value. @param {number} value @param {number} max @param {Scale} [scale] @returns {RGB} */
export const colorOf = (value, max, scale = "sequential") => colorTable(scale)[colorIndex(value, max, scale)];

/**
 * Return a canvas with one pixel for each value of a matrix in row-major order.
 * @param {ArrayLike<number>} values
 * @param {number} rows
 * @param {number} columns
 * @param {number} max
 * @param {Scale} [scale]
 */
export const bitmap = (values, rows, columns, max, scale = "sequential") => {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(columns, rows),
    pixels = new Uint32Array(image.data.buffer);
  const colors = Uint32Array.from(colorTable(scale), ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  for (let i = 0; i < pixels.length; i++) pixels[i] = colors[colorIndex(values[i], max, scale)];
  context.putImageData(image, 0, 0);
  return canvas;
};

/** Return black or white, whichever has the greater contrast on a color (relative luminance, WCAG 2). @param {RGB} rgb */
export const textColorOn = (rgb) => {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
};
