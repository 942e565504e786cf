/** DOM helpers. Text is always set as text; no string is parsed as markup. */

const fill = (element, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") element.textContent = value;
    else if (key === "click") element.addEventListener("click", value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};
export const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const makeSvg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** The current value of a CSS variable of the page. */
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const systemDark = matchMedia("(prefers-color-scheme: dark)");
export const isDark = () => {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : systemDark.matches;
};
/** Call `listener` when the page changes between dark and light, by the system's setting or the user's. */
export const onThemeChange = (listener) => {
  systemDark.addEventListener("change", listener);
  new MutationObserver(listener).observe(document.documentElement, { attributeFilter: ["data-theme"] });
};

/** A function that runs `work` in the next animation frame, at most once a frame. */
export const oncePerFrame = (work) => {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; work(); });
  };
};

/** Arrow key → [rows down, columns right]. */
export const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
/** True if a key was pressed without Ctrl, Meta or Alt. */
export const hasNoModifier = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
