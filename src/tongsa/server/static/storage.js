/** Settings of the user in localStorage. Without storage the defaults are used. */
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
