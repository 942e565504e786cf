/** Keys for everything, and the list of them. */
import { onLanguage, say } from "./words.js";

const element = (id) => document.getElementById(id);
const KEYS = {
  translate: [["Ctrl", "Enter"]], source: [["Alt", "1"]], result: [["Alt", "2"]], swap: [["Alt", "X"]], copy: [["Alt", "C"]],
  mode: [["Alt", "M"]], glossary: [["Alt", "G"]], attention: [["Alt", "A"]], tree: [["Alt", "T"]],
  positions: [["Alt", "P"]], curves: [["Alt", "L"]],
  arrows: [["←"], ["→"]], enter: [["Enter"]], help: [["?"]], escape: [["Esc"]],
};

const shown = (combinations) => combinations.flatMap((keys, at) => [
  ...(at ? [" "] : []),
  ...keys.flatMap((key, place) => {
    const made = document.createElement("kbd");
    made.textContent = key;
    return place ? [" + ", made] : [made];
  }),
]);

const press = (id) => () => { if (!element(id).disabled && !element(id).hidden) element(id).click(); };
const toResult = () => element("result").querySelector('.word[tabindex="0"]')?.focus();
const toGlossary = () => {
  element("glossary").open = true;
  element("glossary").querySelector("input")?.focus();
};

/**
 * @param translate at once
 */
export const shortcuts = (translate) => {
  const bySource = {
    Digit1: () => element("source").focus(), Digit2: toResult, KeyX: press("swap"), KeyC: press("copy"),
    KeyM: () => press(element("document-mode").hidden ? "mode-document" : "mode-text")(),
    KeyG: toGlossary, KeyA: press("open-attention"), KeyT: press("open-tree"),
    KeyP: press("open-positions"), KeyL: press("open-curves"),
  };
  const help = () => element("shortcuts").showModal();
  const typing = (made) => made.matches("input[type=text], textarea, select");

  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    // by place, not by letter: with a Korean layout the key A writes ㅁ
    const action = event.altKey && !event.ctrlKey && !event.metaKey && bySource[event.code];
    if (action) { event.preventDefault(); action(); }
    else if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); translate(); }
    else if (event.key === "?" && !typing(event.target)) { event.preventDefault(); help(); }
  });
  element("shortcuts-open").addEventListener("click", help);
  for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  onLanguage(() => element("shortcut-list").replaceChildren(...Object.entries(KEYS).flatMap(([name, combinations]) => {
    const keys = document.createElement("dt"), words = document.createElement("dd");
    keys.append(...shown(combinations));
    words.textContent = say().shortcutList[name];
    return [keys, words];
  })));
};
