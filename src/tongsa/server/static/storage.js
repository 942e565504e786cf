/** Settings of the user in localStorage, and the text in sessionStorage. Without storage the defaults are used. */

/** @param {() => Storage} storage @param {string} name @param {any} fallback */
const load = (storage, name, fallback) => {
  try {
    return JSON.parse(storage().getItem(`tongsa.${name}`) ?? "null") ?? fallback;
  } catch {
    return fallback;
  }
};
/** @param {() => Storage} storage @param {string} name @param {any} value undefined removes the entry */
const save = (storage, name, value) => {
  try {
    if (value === undefined) storage().removeItem(`tongsa.${name}`);
    else storage().setItem(`tongsa.${name}`, JSON.stringify(value));
  } catch {
    /* storage is full or forbidden */
  }
};

/** @param {string} name @param {any} fallback */
export const loadSetting = (name, fallback) => load(() => localStorage, name, fallback);
/** @param {string} name @param {any} value */
export const saveSetting = (name, value) => save(() => localStorage, name, value);
/** @param {string} name @param {any} fallback */
export const loadSession = (name, fallback) => load(() => sessionStorage, name, fallback);
/** @param {string} name @param {any} value */
export const saveSession = (name, value) => save(() => sessionStorage, name, value);
