/** Writing on a canvas: fonts, lengths, and pieces whose '▁' stands back. */
import { css, short, SPACE } from "./elements.js";

export const LETTERS = 16;
/** Longer labels are cut short. */

export const look = () => ({
  ink: css("--ink"), quiet: css("--quiet"), paper: css("--paper"), accent: css("--accent"), sans: css("--sans"),
});
export const font = (sans, size, weight = 400) => `${weight} ${size}px ${sans}`;

const ruler = document.createElement("canvas").getContext("2d");
export const widest = (labels, size) => {
  ruler.font = font(css("--sans"), size, 600);
  return labels.reduce((most, label) => Math.max(most, ruler.measureText(short(label, LETTERS)).width), 0);
};

/** '▁' is part of a piece's name, but the eye should find the letters. */
export const write = (context, label, x, y, align, ink, quiet) => {
  const text = short(label, LETTERS), mark = text.startsWith(SPACE) && text.length > 1 ? SPACE : "", rest = text.slice(mark.length);
  const space = context.measureText(mark).width, length = space + context.measureText(rest).width;
  const begin = align === "right" ? x - length : align === "center" ? x - length / 2 : x;
  context.textAlign = "left";
  context.fillStyle = quiet;
  context.globalAlpha = 0.55;
  context.fillText(mark, begin, y);
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.fillText(rest, begin + space, y);
};

export const within = (context, x, y, width, height, painting) => {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  painting();
  context.restore();
};
