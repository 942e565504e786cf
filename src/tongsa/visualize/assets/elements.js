/** What every drawing is built from. Text stays text: nothing here reads markup. */

export const SPACE = "▁";
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
export const percent = (share) => `${Math.round(share * 100)}%`;
export const short = (text, length) => {
  const characters = Array.from(text);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
};

const filled = (made, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (key === "click") made.addEventListener("click", value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
};
export const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const drawn = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** A variable of the page's style, as it is now. */
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const system = matchMedia("(prefers-color-scheme: dark)");
export const isDark = () => {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : system.matches;
};
/** Call `changed` when the page turns dark or light, by the system's wish or the reader's. */
export const onTheme = (changed) => {
  system.addEventListener("change", changed);
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
};

/** `work` at most once a frame, however often it is asked for. */
export const onceAFrame = (work) => {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; work(); });
  };
};

/** Down and right by one, for each arrow key. */
export const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
/** Whether a key was pressed by itself. */
export const free = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
