/** Number and text formatting. */

/** SentencePiece's mark at the start of a word. */
export const SPACE = "▁";

/** @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/** Return a share as a percentage without decimals. @param {number} share */
export const percent = (share) => `${Math.round(share * 100)}%`;

/** Cut a text to a number of characters; the last one is then an ellipsis. @param {string} text @param {number} length */
export const truncate = (text, length) => {
  const characters = Array.from(text);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
};

/** Return a number with a typographic minus; never "−0.000". @param {number} value @param {number} [digits] */
export const signed = (value, digits = 3) => {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) ? `−${text}` : text;
};

/** Return a log-probability as a percentage, with one decimal near 0 % and 100 %. @param {number} logProb */
export const probability = (logProb) => {
  const percentage = Math.exp(logProb) * 100;
  if (percentage < 0.1) return "<0.1%";
  if (percentage >= 99.95) return "100%";
  return percentage < 10 || percentage > 99 ? `${percentage.toFixed(1)}%` : `${Math.round(percentage)}%`;
};

/** Return a token as text to read: the mark of a word's start becomes a space. @param {string} token */
export const tokenText = (token) => token.replaceAll(SPACE, " ");
