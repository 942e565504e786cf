/** Text on a canvas: fonts, widths, and token labels with a dimmed '▁'. */
import { css } from "./dom.js";
import { SPACE, truncate } from "./format.js";

const MAX_LABEL_LENGTH = 16;

export const themeColors = () => ({
  ink: css("--ink"), quiet: css("--quiet"), paper: css("--paper"), accent: css("--accent"), sans: css("--sans"),
});
export const font = (sans, size, weight = 400) => `${weight} ${size}px ${sans}`;

const measuring = document.createElement("canvas").getContext("2d");
export const maxLabelWidth = (labels, size) => {
  measuring.font = font(css("--sans"), size, 600);
  return labels.reduce((max, label) => Math.max(max, measuring.measureText(truncate(label, MAX_LABEL_LENGTH)).width), 0);
};

/** Draw a token's label; the leading '▁' is dimmed so that the letters stand out. */
export const drawLabel = (context, label, x, y, align, ink, quiet) => {
  const text = truncate(label, MAX_LABEL_LENGTH), mark = text.startsWith(SPACE) && text.length > 1 ? SPACE : "", rest = text.slice(mark.length);
  const markWidth = context.measureText(mark).width, width = markWidth + context.measureText(rest).width;
  const start = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
  context.textAlign = "left";
  context.fillStyle = quiet;
  context.globalAlpha = 0.55;
  context.fillText(mark, start, y);
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.fillText(rest, start + markWidth, y);
};

/** Run `paint` with the canvas clipped to a rectangle. */
export const clipped = (context, x, y, width, height, paint) => {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  paint();
  context.restore();
};
