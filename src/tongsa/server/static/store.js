/** State of the page: one object that only `set` changes. Parts of the page subscribe to the keys that they show. */

/**
 * @template {object} S
 * @typedef {object} Store
 * @property {() => S} get
 * @property {(patch: Partial<S>) => void} set
 * @property {(keys: (keyof S)[], listener: (state: S) => void) => void} subscribe call the listener now and after
 *   each change of one of the keys
 */

/**
 * Return a store. A change made by a listener is delivered after the current one, so all listeners see the same order.
 * @template {object} S
 * @param {S} initial
 * @returns {Store<S>}
 */
export const createStore = (initial) => {
  let state = initial;
  /** @type {{ keys: (keyof S)[], listener: (state: S) => void }[]} */
  const subscribers = [];
  /** @type {(keyof S)[][]} */
  const changes = [];
  let isNotifying = false;

  const notify = () => {
    if (isNotifying) return;
    isNotifying = true;
    try {
      for (let changed = changes.shift(); changed; changed = changes.shift()) {
        const keys = new Set(changed);
        for (const { keys: observed, listener } of subscribers)
          if (observed.some((key) => keys.has(key))) listener(state);
      }
    } finally {
      isNotifying = false;
    }
  };
  return {
    get: () => state,
    set: (patch) => {
      const changed = /** @type {(keyof S)[]} */ (Object.keys(patch)).filter(
        (key) => !Object.is(state[key], patch[key]),
      );
      if (!changed.length) return;
      state = { ...state, ...patch };
      changes.push(changed);
      notify();
    },
    subscribe: (keys, listener) => {
      subscribers.push({ keys, listener });
      listener(state);
    },
  };
};
