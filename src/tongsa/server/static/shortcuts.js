/** Keyboard shortcuts and the list of them. */
import { labels, onLanguageChange } from "./labels.js";

const element = (id) => document.getElementById(id);
const KEYS = {
  translate: [["Ctrl", "Enter"]], source: [["Alt", "1"]], result: [["Alt", "2"]], swap: [["Alt", "X"]], copy: [["Alt", "C"]],
  mode: [["Alt", "M"]], glossary: [["Alt", "G"]], attention: [["Alt", "A"]], tree: [["Alt", "T"]],
  positions: [["Alt", "P"]], curves: [["Alt", "L"]],
  arrows: [["←"], ["→"]], enter: [["Enter"]], help: [["?"]], escape: [["Esc"]],
};

const keyElements = (combinations) => combinations.flatMap((keys, i) => [
  ...(i ? [" "] : []),
  ...keys.flatMap((key, j) => {
    const kbd = document.createElement("kbd");
    kbd.textContent = key;
    return j ? [" + ", kbd] : [kbd];
  }),
]);

const press = (id) => () => { if (!element(id).disabled && !element(id).hidden) element(id).click(); };
const focusResult = () => element("result").querySelector('.word[tabindex="0"]')?.focus();
const openGlossary = () => {
  element("glossary").open = true;
  element("glossary").querySelector("input")?.focus();
};

/**
 * @param translateNow called by Ctrl + Enter
 */
export const setupShortcuts = (translateNow) => {
  const actions = {
    Digit1: () => element("source").focus(), Digit2: focusResult, KeyX: press("swap"), KeyC: press("copy"),
    KeyM: () => press(element("document-mode").hidden ? "mode-document" : "mode-text")(),
    KeyG: openGlossary, KeyA: press("open-attention"), KeyT: press("open-tree"),
    KeyP: press("open-positions"), KeyL: press("open-curves"),
  };
  const showHelp = () => element("shortcuts").showModal();
  const isTextField = (node) => node.matches("input[type=text], textarea, select");

  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    // by key code, not by letter: with a Korean layout the A key types ㅁ
    const action = event.altKey && !event.ctrlKey && !event.metaKey && actions[event.code];
    if (action) { event.preventDefault(); action(); }
    else if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); translateNow(); }
    else if (event.key === "?" && !isTextField(event.target)) { event.preventDefault(); showHelp(); }
  });
  element("shortcuts-open").addEventListener("click", showHelp);
  for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  onLanguageChange(() => element("shortcut-list").replaceChildren(...Object.entries(KEYS).flatMap(([name, combinations]) => {
    const keys = document.createElement("dt"), description = document.createElement("dd");
    keys.append(...keyElements(combinations));
    description.textContent = labels().shortcutList[name];
    return [keys, description];
  })));
};
