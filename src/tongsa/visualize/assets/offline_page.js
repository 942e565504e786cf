/** The self-contained page: sentence chooser, one tab for each panel in a shadow root; the hash keeps the selection. */
import { draw as drawAttention } from "./attention.js";
import { draw as drawCompare } from "./compare.js";
import { draw as drawCurves } from "./curves.js";
import { $, make, rove } from "./dom.js";
import { draw as drawFamily } from "./family.js";
import { clamp, truncate } from "./format.js";
import { draw as drawInspect } from "./inspect.js";
import { draw as drawPositions } from "./positions.js";
import { draw as drawTree } from "./search_tree.js";
import { textRows } from "./texts.js";
import { draw as drawTrace } from "./trace.js";
import { WORDS } from "./view_words.js";

/** @typedef {import("./view_words.js").Panel} Panel */
/** @typedef {import("./view_words.js").Language} Language */

/**
 * Panel → its `draw`; the order of the tabs.
 * @type {Record<string, (root: ShadowRoot, data: any, options: any) => Panel>}
 */
const PANELS = {
  attention: drawAttention, tree: drawTree, positions: drawPositions, curves: drawCurves, trace: drawTrace,
  family: drawFamily, inspect: drawInspect, compare: drawCompare,
};
const THEMES = ["system", "light", "dark"];
const THEME_KEY = "tongsa.theme";

/** Return the selection in the address. */
const readHash = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

/** Return the theme that was chosen, if there is storage. */
const loadTheme = () => {
  try {
    return JSON.parse(localStorage.getItem(THEME_KEY) ?? "null") ?? "system";
  } catch {
    return "system";
  }
};
const setTheme = (theme) => {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(THEME_KEY, JSON.stringify(theme));
  } catch { /* a frame in a notebook has no storage */ }
};

/**
 * Draw the page.
 * @param {{title: string, sentences: import("./texts.js").SentenceTexts[], panels: Record<string, any>}} data
 */
export const drawPage = ({ title, sentences, panels: panelData }) => {
  const names = Object.keys(PANELS).filter((name) => name in panelData);
  const selection = readHash();
  /** @type {Language} */
  let language = selection.language === "en" || selection.language === "ko" ? selection.language
    : (navigator.language || "").startsWith("ko") ? "ko" : "en";
  let current = names.includes(selection.panel) ? selection.panel : names[0];
  let sentence = clamp((parseInt(selection.sentence, 10) || 1) - 1, 0, Math.max(0, sentences.length - 1));
  const words = () => WORDS[language].page;
  const saveSelection = (update = {}) => {
    Object.assign(selection, update, { language, panel: current, sentence: sentence + 1 });
    for (const [key, value] of Object.entries(selection)) if (value === "") delete selection[key];
    try {
      history.replaceState(null, "", `#${new URLSearchParams(selection)}`);
    } catch { /* a frame in a notebook has no URL of its own */ }
  };

  // ── panels: drawn when first opened ──
  const sharedStyles = () => Array.from(document.querySelectorAll("style[data-shared]"), (style) => style.textContent);
  /** @type {Record<string, {host: HTMLElement, panel: Panel, sentence: number}>} */
  const opened = {};
  const openPanel = (name) => {
    const host = make("div", { id: `panel-${name}`, role: "tabpanel", "aria-labelledby": `open-${name}` });
    const root = host.attachShadow({ mode: "open" });
    root.append(make("style", { text: sharedStyles().join("\n") + $(`style-${name}`).textContent }));
    $("panel-hosts").append(host); // in the page first: panels measure their width
    const openTab = names.includes("tree") ? select : null; // the trace leads to the search tree
    const options = {
      language, saved: selection, onChange: saveSelection, sentence, hasHeader: sentences.length > 0, openPanel: openTab,
    };
    opened[name] = { host, panel: PANELS[name](root, panelData[name], options), sentence };
  };
  const show = () => {
    for (const { host } of Object.values(opened)) host.hidden = true;
    if (opened[current]) opened[current].host.hidden = false;
    else openPanel(current);
    const panel = opened[current];
    if (panel.sentence !== sentence) panel.panel.setSentence(sentence);
    panel.sentence = sentence;
    for (const name of names) {
      $(`open-${name}`).setAttribute("aria-selected", name === current);
      $(`open-${name}`).tabIndex = name === current ? 0 : -1;
    }
  };
  const select = (name) => {
    current = name;
    show();
    saveSelection();
  };

  // ── sentence ──
  const showSentence = () => {
    const select = /** @type {HTMLSelectElement} */ ($("sentence"));
    $("sentences").hidden = sentences.length < 2;
    $("sentence-label").textContent = `${words().sentence} ${sentence + 1}/${sentences.length}`;
    const options = sentences.map(({ text }, i) => make("option", { value: i, text: `${i + 1}. ${truncate(text, 90)}` }));
    select.replaceChildren(...options);
    select.value = String(sentence);
    $("previous").disabled = sentence === 0;
    $("next").disabled = sentence === sentences.length - 1;
    $("previous").setAttribute("aria-label", words().previousSentence);
    $("next").setAttribute("aria-label", words().nextSentence);
    $("texts").replaceChildren(...(sentences.length ? textRows(sentences[sentence], words()) : []));
    showExpander();
  };
  const showExpander = () => {
    const lines = /** @type {HTMLElement[]} */ ([...$("texts").querySelectorAll("dd")]);
    const isOpen = $("texts").classList.contains("open");
    $("expand").hidden = !isOpen && !lines.some((line) => line.scrollWidth > line.clientWidth + 1);
    $("expand").textContent = isOpen ? words().less : words().more;
    $("expand").setAttribute("aria-expanded", isOpen);
  };
  const chooseSentence = (index) => {
    sentence = clamp(index, 0, sentences.length - 1);
    showSentence();
    show();
    saveSelection();
  };

  // ── language and theme ──
  const showTheme = () => {
    const theme = document.documentElement.dataset.theme ?? "system";
    $("theme").textContent = words().theme[theme];
    $("theme").setAttribute("aria-label", words().themeHelp(words().theme[theme]));
  };
  const showLanguage = () => {
    document.documentElement.lang = language;
    $("language").textContent = words().otherLanguage;
    $("language").setAttribute("aria-label", words().otherLanguageHelp);
    $("language").lang = language === "ko" ? "en" : "ko";
    $("panels").setAttribute("aria-label", words().panels);
    for (const name of names) $(`open-${name}`).textContent = words()[name];
    showTheme();
    showSentence();
    for (const { panel } of Object.values(opened)) panel.setLanguage(language);
  };

  $("title").textContent = title;
  $("panels").hidden = names.length < 2;
  $("panels").replaceChildren(...names.map((name) => make("button", {
    type: "button", role: "tab", id: `open-${name}`, "aria-controls": "panel-hosts", click: () => select(name),
  })));
  rove($("panels"), () => [...$("panels").children], (tab) => select(tab.id.slice("open-".length)));
  $("sentence").addEventListener("change", (event) => chooseSentence(Number(event.target.value)));
  $("previous").addEventListener("click", () => chooseSentence(sentence - 1));
  $("next").addEventListener("click", () => chooseSentence(sentence + 1));
  $("expand").addEventListener("click", () => {
    $("texts").classList.toggle("open");
    showExpander();
  });
  addEventListener("resize", showExpander);
  $("language").addEventListener("click", () => {
    language = language === "ko" ? "en" : "ko";
    showLanguage();
    saveSelection();
  });
  $("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme ?? "system";
    setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
    showTheme();
  });
  setTheme(loadTheme());
  showLanguage();
  show();
};
