/** Settings of the reader in localStorage. A browser that stores nothing is no error. */
export const loadSetting = (name, fallback) => {
  try {
    return JSON.parse(localStorage.getItem(`tongsa.${name}`)) ?? fallback;
  } catch {
    return fallback;
  }
};

export const saveSetting = (name, value) => {
  try {
    localStorage.setItem(`tongsa.${name}`, JSON.stringify(value));
  } catch { /* storage is full or forbidden */ }
};
