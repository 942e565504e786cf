/** What the reader chose last time. A browser that keeps nothing is no error. */
export const kept = (name, otherwise) => {
  try {
    return JSON.parse(localStorage.getItem(`tongsa.${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
};

export const keep = (name, value) => {
  try {
    localStorage.setItem(`tongsa.${name}`, JSON.stringify(value));
  } catch { /* full, or forbidden */ }
};
