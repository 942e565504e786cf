/** Number and text formatting. */

export const SPACE = "▁"; // SentencePiece's mark at the start of a word
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
export const percent = (share) => `${Math.round(share * 100)}%`;
export const truncate = (text, length) => {
  const characters = Array.from(text);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
};
/** A number with a typographic minus; never "−0.000". */
export const signed = (value, digits = 3) => {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) ? `−${text}` : text;
};
/** A log-probability as a percentage, with one decimal near 0 % and 100 %. */
export const probability = (logProb) => {
  const percentage = Math.exp(logProb) * 100;
  if (percentage < 0.1) return "<0.1%";
  if (percentage >= 99.95) return "100%";
  return percentage < 10 || percentage > 99 ? `${percentage.toFixed(1)}%` : `${Math.round(percentage)}%`;
};
