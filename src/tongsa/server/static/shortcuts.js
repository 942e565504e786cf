/** Keyboard shortcuts and the list of them. */
import { $, make } from "./dom.js";
import { modeOf, wordsOf } from "./state.js";

/**
 * Name of a shortcut → its keys; "Alt" is Ctrl + Option on a Mac, where Option alone types letters such as @ and ł.
 * @type {Record<string, string[][]>}
 */
const KEYS = {
  translate: [["Ctrl", "Enter"]],
  source: [["Alt", "1"]],
  result: [["Alt", "2"]],
  swap: [["Alt", "X"]],
  copy: [["Alt", "C"]],
  mode: [["Alt", "M"]],
  glossary: [["Alt", "G"]],
  attention: [["Alt", "A"]],
  tree: [["Alt", "T"]],
  positions: [["Alt", "P"]],
  curves: [["Alt", "L"]],
  arrows: [["←"], ["→"]],
  enter: [["Enter"]],
  help: [["?"]],
  escape: [["Esc"]],
};
const CODE = /^(?:Key|Digit)(\w)$/u;

/**
 * Return the key of a shortcut that an event stands for, such as "A" or "1", or "". The code names the key, because
 * with a Korean layout the A key types ㅁ. In a text field nothing may be typed by the same keys.
 * @param {{ code: string, key: string, altKey: boolean, ctrlKey: boolean, metaKey: boolean, shiftKey: boolean,
 *   isComposing?: boolean, getModifierState?: (name: string) => boolean }} event
 * @param {{ isMac: boolean, isTyping: boolean }} context
 */
export const shortcutKey = (event, { isMac, isTyping }) => {
  const name = event.code.match(CODE)?.[1] ?? "";
  if (!name || !event.altKey || event.metaKey || event.isComposing || event.getModifierState?.("AltGraph")) return "";
  if (event.ctrlKey !== isMac) return "";
  // a key that composed another letter belongs to the text; Hangul letters are what the same key types in Korean
  const isPlain = event.key.toUpperCase() === name || /^[ㄱ-ㅣ]$/u.test(event.key);
  return isMac || isPlain || !isTyping ? name : "";
};

/** @param {Document} root @param {import("./state.js").PageStore} store @param {() => void} translateNow */
export const mountShortcuts = (root, store, translateNow) => {
  const isMac = /Mac|iPhone|iPad/u.test(navigator.platform);
  /** @param {string} id */
  const press = (id) => () => {
    if (!$(id, root).disabled && $(id, root).offsetParent) $(id, root).click();
  };
  const openGlossary = () => {
    $("glossary", root).open = true;
    $("glossary", root).querySelector("input")?.focus();
  };
  /** @type {Record<string, () => void>} */
  const actions = {
    1: () => $("source", root).focus(),
    2: () => $("translation", root).querySelector('.word[tabindex="0"]')?.focus(),
    X: press("swap"),
    C: press("copy"),
    G: openGlossary,
    A: press("open-attention"),
    T: press("open-tree"),
    M: () => press(modeOf(store.get()) === "text" ? "mode-document" : "mode-text")(),
    P: press("open-positions"),
    L: press("open-curves"),
  };
  const showHelp = () => $("shortcuts", root).showModal();
  /** @param {any} node */
  const isTextField = (node) => node.matches("input:not([type=checkbox], [type=file]), textarea, select");

  root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (root.querySelector("dialog[open]")) return;
    const action = actions[shortcutKey(event, { isMac, isTyping: isTextField(event.target) })];
    if (action) action();
    else if ((event.ctrlKey || event.metaKey) && event.key === "Enter") translateNow();
    else if (event.key === "?" && !isTextField(event.target)) showHelp();
    else return;
    event.preventDefault();
  });
  $("shortcuts-open", root).addEventListener("click", showHelp);
  for (const button of root.querySelectorAll("[data-close]"))
    button.addEventListener("click", () => button.closest("dialog")?.close());

  /** @param {string[]} keys */
  const keyElements = (keys) => {
    const names = keys.flatMap((key) => (key === "Alt" && isMac ? ["Ctrl", "⌥"] : [key]));
    return names.flatMap((key, i) => [i ? " + " : "", make("kbd", { text: key })]);
  };
  store.subscribe(["language"], (state) => {
    const descriptions = /** @type {Record<string, string>} */ (wordsOf(state).shortcutList);
    $("shortcut-list", root).replaceChildren(
      ...Object.entries(KEYS).flatMap(([name, combinations]) => [
        make("dt", {}, ...combinations.flatMap((keys, i) => [i ? " " : "", ...keyElements(keys)])),
        make("dd", { text: descriptions[name] }),
      ]),
    );
  });
};
