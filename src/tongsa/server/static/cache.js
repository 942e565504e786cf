/** A map of limited size that forgets what was not used for the longest time. */

/**
 * @template V
 * @param {number} limit
 */
export const createCache = (limit) => {
  /** @type {Map<string, V>} */
  const entries = new Map();
  /** @param {string} key @param {V} value */
  const set = (key, value) => {
    entries.delete(key);
    entries.set(key, value);
    if (entries.size > limit) entries.delete(/** @type {string} */ (entries.keys().next().value));
  };
  return {
    set,
    /** @param {string} key */
    get: (key) => {
      const value = entries.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
  };
};
