/** One hue, lightness alone carries the weight: it reads in grey print and for every kind of eye. */
import { clamp, isDark } from "./elements.js";

const LIGHT_RAMP = ["f4f6fa", "d5e3f6", "a6c7ed", "6ea2dd", "3c78c4", "1f4f97", "0d2a5b"];
const DARK_RAMP = ["181d25", "1b2f4c", "224a7c", "2f6bb3", "5593dd", "94c0f5", "e4f0ff"];
export const stops = () => (isDark() ? DARK_RAMP : LIGHT_RAMP);

const interpolated = (ramp) => { // 256 × RGB
  const points = ramp.map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (points.length - 1), from = Math.min(Math.floor(place), points.length - 2);
    return points[from].map((low, c) => Math.round(low + (place - from) * (points[from + 1][c] - low)));
  });
};
const made = new Map();
export const table = () => {
  const ramp = stops();
  if (!made.has(ramp)) made.set(ramp, interpolated(ramp));
  return made.get(ramp);
};
const grade = (weight, most) => Math.round(clamp(weight / most, 0, 1) * 255);
export const colourOf = (weight, most) => table()[grade(weight, most)];

/** A picture with one pixel for each weight. */
export const bitmap = (weights, rows, columns, most) => {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = Uint32Array.from(table(), ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  const steps = 255 / most;
  for (let i = 0; i < weights.length; i++) pixels[i] = colours[Math.min(255, Math.max(0, weights[i] * steps + 0.5)) | 0];
  context.putImageData(image, 0, 0);
  return canvas;
};

/** The ink with the greater contrast on a colour (relative luminance, WCAG 2). */
export const inkOn = (rgb) => {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#10151c" : "#ffffff";
};
