/** Color scale of the weights: one hue; lightness alone shows the weight, so it works in gray print and for color-blind readers. */
import { isDark } from "./dom.js";
import { clamp } from "./format.js";

const LIGHT_STOPS = ["f4f6fa", "d5e3f6", "a6c7ed", "6ea2dd", "3c78c4", "1f4f97", "0d2a5b"];
const DARK_STOPS = ["181d25", "1b2f4c", "224a7c", "2f6bb3", "5593dd", "94c0f5", "e4f0ff"];
export const colorStops = () => (isDark() ? DARK_STOPS : LIGHT_STOPS);

const interpolate = (stops) => { // 256 × RGB
  const colors = stops.map((hex) => [0, 2, 4].map((offset) => parseInt(hex.slice(offset, offset + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const position = (i / 255) * (colors.length - 1), from = Math.min(Math.floor(position), colors.length - 2);
    return colors[from].map((low, channel) => Math.round(low + (position - from) * (colors[from + 1][channel] - low)));
  });
};
const tables = new Map(); // stops → 256 × RGB
const colorTable = () => {
  const stops = colorStops();
  if (!tables.has(stops)) tables.set(stops, interpolate(stops));
  return tables.get(stops);
};
export const colorOf = (weight, max) => colorTable()[Math.round(clamp(weight / max, 0, 1) * 255)];

/** A canvas with one pixel for each weight. */
export const bitmap = (weights, rows, columns, max) => {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = Uint32Array.from(colorTable(), ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  const scale = 255 / max;
  for (let i = 0; i < weights.length; i++) pixels[i] = colors[Math.min(255, Math.max(0, weights[i] * scale + 0.5)) | 0];
  context.putImageData(image, 0, 0);
  return canvas;
};

/** Black or white text, whichever has the greater contrast on a color (relative luminance, WCAG 2). */
export const textColorOn = (rgb) => {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#10151c" : "#ffffff";
};
