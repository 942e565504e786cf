/** DOM helpers, shared by all pages. Text is always set as text; no string is parsed as markup. */

/** @typedef {Record<string, any>} Attributes "text" sets the text content, "click" adds a listener */

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {(Node | string)[]} children
 * @returns {E}
 */
const fill = (element, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") element.textContent = value;
    else if (key === "click") element.addEventListener("click", value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};

/**
 * Return a new HTML element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/**
 * Return a new SVG element.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export const makeSvg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/**
 * Return the element with an id. A missing element is an error in the page itself, so it throws.
 * @template {Element} [E=any]
 * @param {string} id
 * @param {ParentNode} [root] the document, a shadow root or an element
 * @returns {E}
 */
export const $ = (id, root = document) => {
  const element = root.querySelector(`#${CSS.escape(id)}`);
  if (!element) throw new Error(`no element #${id}`);
  return /** @type {E} */ (element);
};

/** Return the current value of a CSS variable of the page. @param {string} name */
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const systemDark = () => matchMedia("(prefers-color-scheme: dark)");

/** Return whether the page is dark, by the user's choice or the system's setting. */
export const isDark = () => {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : systemDark().matches;
};

/**
 * Call `listener` when the page changes between dark and light, until the signal aborts.
 * @param {() => void} listener
 * @param {AbortSignal} [signal]
 */
export const onThemeChange = (listener, signal) => {
  if (signal?.aborted) return;
  systemDark().addEventListener("change", listener, { signal });
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  signal?.addEventListener("abort", () => observer.disconnect(), { once: true });
};

/**
 * Call `listener` when the width of an element changes, until the signal aborts.
 * @param {Element} element
 * @param {(width: number) => void} listener
 * @param {AbortSignal} [signal]
 */
export const onWidthChange = (element, listener, signal) => {
  if (signal?.aborted) return;
  let width = 0;
  const observer = new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width) return; // the height may depend on the drawing itself
    width = entry.contentRect.width;
    listener(width);
  });
  observer.observe(element);
  signal?.addEventListener("abort", () => observer.disconnect(), { once: true });
};

/**
 * Return a function that runs `work` in the next animation frame, at most once a frame.
 * @param {() => void} work
 */
export const oncePerFrame = (work) => {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; work(); });
  };
};

/** Arrow key → [rows down, columns right]. @type {Record<string, [number, number]>} */
export const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Return whether a key was pressed without Ctrl, Meta or Alt. @param {KeyboardEvent} event */
export const hasNoModifier = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;

/**
 * Return the index that a key moves to in a list of `count` items, or null for other keys. Arrows wrap around.
 * @param {string} key
 * @param {number} index
 * @param {number} count
 * @returns {number | null}
 */
export const nextIndex = (key, index, count) => {
  if (!count) return null;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = ARROWS[key] ? ARROWS[key][0] + ARROWS[key][1] : 0;
  return step ? (index + step + count) % count : null;
};

/**
 * Roving focus: arrow keys, Home and End move the focus among the items of a container, which is one Tab stop.
 * @param {Element} container
 * @param {() => HTMLElement[]} items the items in order
 * @param {(item: HTMLElement) => void} onMove called after the focus moved
 * @param {AbortSignal} [signal]
 */
export const rove = (container, items, onMove, signal) => {
  container.addEventListener("keydown", (event) => {
    const { key } = /** @type {KeyboardEvent} */ (event), list = items();
    const current = list.findIndex((item) => item.contains(/** @type {Node} */ (event.target)));
    const next = hasNoModifier(/** @type {KeyboardEvent} */ (event)) ? nextIndex(key, current, list.length) : null;
    if (current < 0 || next === null) return;
    event.preventDefault();
    list.forEach((item, i) => { item.tabIndex = i === next ? 0 : -1; });
    list[next].focus();
    onMove(list[next]);
  }, { signal });
};

/**
 * Offer a blob as a download.
 * @param {Blob} blob
 * @param {string} name
 */
export const saveBlob = (blob, name) => {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};
