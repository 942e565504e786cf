/**
 * A list of inline elements, one per sentence, changed in place: unchanged sentences keep their elements and the focus.
 */

/**
 * @template T
 * @typedef {object} Item
 * @property {number} key
 * @property {string} gap text before the element
 * @property {T} value
 */

/**
 * Return a function that shows a list of items in a container.
 * @template T
 * @param {HTMLElement} container
 * @param {{ isSame: (value: T, earlier: T) => boolean, fill: (element: HTMLElement, value: T) => void }} options
 *   `fill` puts a value into an emptied element; it is not called for a value that is the same as the earlier one
 * @returns {(items: Item<T>[], tail: string) => void}
 */
export const createKeyedList = (container, { isSame, fill }) => {
  /** @type {Map<number, { gap: Text, element: HTMLElement, value: T }>} */
  let entries = new Map();
  const end = container.ownerDocument.createTextNode("");

  /** @param {Item<T>} item */
  const createEntry = (item) => {
    const element = container.ownerDocument.createElement("span");
    element.dataset.key = String(item.key);
    fill(element, item.value);
    return { gap: container.ownerDocument.createTextNode(item.gap), element, value: item.value };
  };
  return (items, tail) => {
    /** @type {typeof entries} */
    const next = new Map(),
      nodes = [];
    for (const item of items) {
      const entry = entries.get(item.key) ?? createEntry(item);
      if (entry.gap.data !== item.gap) entry.gap.data = item.gap;
      if (!isSame(item.value, entry.value)) {
        entry.element.replaceChildren();
        fill(entry.element, item.value);
      }
      next.set(item.key, { ...entry, value: item.value });
      nodes.push(entry.gap, entry.element);
    }
    if (end.data !== tail) end.data = tail;
    nodes.push(end);
    const kept = new Set(nodes);
    for (const node of [...container.childNodes]) if (!kept.has(/** @type {any} */ (node))) node.remove();
    nodes.forEach((node, i) => {
      if (container.childNodes[i] !== node) container.insertBefore(node, container.childNodes[i] ?? null);
    });
    entries = next;
  };
};
