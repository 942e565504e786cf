/** Numbers as they are written here. */

export const signed = (value, digits = 3) => {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) ? `−${text}` : text;
};
const share = (hundred) => {
  if (hundred < 0.1) return "<0.1%";
  return hundred >= 99.95 ? "100%" : hundred < 10 || hundred > 99 ? `${hundred.toFixed(1)}%` : `${Math.round(hundred)}%`;
};
export const probability = (log) => share(Math.exp(log) * 100);
