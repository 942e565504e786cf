/** The self-contained page: sentence chooser, one tab for each panel in a shadow root; the hash keeps the selection. */
import { draw as drawAttention } from "./attention.js";
import { draw as drawCompare } from "./compare.js";
import { draw as drawCorpus } from "./corpus.js";
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
  family: drawFamily, inspect: drawInspect, compare: drawCompare, corpus: drawCorpus,
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
 * Button that changes the theme: system, light, dark.
 * @param {() => any} words
 */
const mountTheme = (words) => {
  const current = () => document.documentElement.dataset.theme ?? "system";
  const show = () => {
    $("theme").textContent = words().theme[current()];
    $("theme").setAttribute("aria-label", words().themeHelp(words().theme[current()]));
  };
  $("theme").addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length]);
    show();
  });
  setTheme(loadTheme());
  return { show };
};

/**
 * Chooser of the sentence, and its texts.
 * @param {import("./texts.js").SentenceTexts[]} sentences
 * @param {{current: () => number, choose: (index: number) => void, words: () => any}} options
 */
const mountSentences = (sentences, { current, choose, words }) => {
  const showExpander = () => {
    const lines = /** @type {HTMLElement[]} */ ([...$("texts").querySelectorAll("dd")]);
    const isOpen = $("texts").classList.contains("open");
    $("expand").hidden = !isOpen && !lines.some((line) => line.scrollWidth > line.clientWidth + 1);
    $("expand").textContent = isOpen ? words().less : words().more;
    $("expand").setAttribute("aria-expanded", isOpen);
  };
  const show = () => {
    const select = /** @type {HTMLSelectElement} */ ($("sentence")), index = current();
    $("sentences").hidden = sentences.length < 2;
    $("sentence-label").textContent = `${words().sentence} ${index + 1}/${sentences.length}`;
    const options = sentences.map(({ text }, i) => make("option", { value: i, text: `${i + 1}. ${truncate(text, 90)}` }));
    select.replaceChildren(...options);
    select.value = String(index);
    $("previous").disabled = index === 0;
    $("next").disabled = index === sentences.length - 1;
    $("previous").setAttribute("aria-label", words().previousSentence);
    $("next").setAttribute("aria-label", words().nextSentence);
    $("texts").replaceChildren(...(sentences.length ? textRows(sentences[index], words()) : []));
    showExpander();
  };
  $("sentence").addEventListener("change", (event) => choose(Number(event.target.value)));
  $("previous").addEventListener("click", () => choose(current() - 1));
  $("next").addEventListener("click", () => choose(current() + 1));
  $("expand").addEventListener("click", () => {
    $("texts").classList.toggle("open");
    showExpander();
  });
  addEventListener("resize", showExpander);
  return { show };
};

/** A panel in a shadow root of its own. @param {string} name @param {any} data @param {object} options */
const createPanel = (name, data, options) => {
  const host = make("div", { id: `panel-${name}`, role: "tabpanel", "aria-labelledby": `open-${name}` });
  const root = host.attachShadow({ mode: "open" });
  const shared = Array.from(document.querySelectorAll("style[data-shared]"), (style) => style.textContent);
  root.append(make("style", { text: shared.join("\n") + $(`style-${name}`).textContent }));
  $("panel-hosts").append(host); // in the page first: panels measure their width
  return { host, panel: PANELS[name](root, data, options) };
};

/** The language of the address, or the browser's. @param {Record<string, string>} selection @returns {Language} */
const firstLanguage = ({ language }) => {
  if (language === "en" || language === "ko") return language;
  return (navigator.language || "").startsWith("ko") ? "ko" : "en";
};

/**
 * Draw the page.
 * @param {{title: string, sentences: import("./texts.js").SentenceTexts[], panels: Record<string, any>}} data
 */
export const drawPage = ({ title, sentences, panels: panelData }) => {
  const names = Object.keys(PANELS).filter((name) => name in panelData), selection = readHash();
  let language = firstLanguage(selection);
  let current = names.includes(selection.panel) ? selection.panel : names[0];
  let sentence = clamp((parseInt(selection.sentence, 10) || 1) - 1, 0, Math.max(0, sentences.length - 1));
  const words = () => WORDS[language].page;
  /** Panels are drawn when first opened. @type {Record<string, {host: HTMLElement, panel: Panel, sentence: number}>} */
  const opened = {};

  const saveSelection = (update = {}) => {
    Object.assign(selection, update, { language, panel: current, sentence: sentence + 1 });
    for (const [key, value] of Object.entries(selection)) if (value === "") delete selection[key];
    try {
      history.replaceState(null, "", `#${new URLSearchParams(selection)}`);
    } catch { /* a frame in a notebook has no URL of its own */ }
  };
  const openPanel = () => {
    const openTab = names.includes("tree") ? select : null; // the trace leads to the search tree
    const options = {
      language, saved: selection, onChange: saveSelection, sentence, hasHeader: sentences.length > 0, openPanel: openTab,
    };
    opened[current] = { ...createPanel(current, panelData[current], options), sentence };
  };
  const show = () => {
    for (const { host } of Object.values(opened)) host.hidden = true;
    if (opened[current]) opened[current].host.hidden = false;
    else openPanel();
    const panel = opened[current];
    if (panel.sentence !== sentence) panel.panel.setSentence(sentence);
    panel.sentence = sentence;
    for (const name of names) {
      $(`open-${name}`).setAttribute("aria-selected", name === current);
      $(`open-${name}`).tabIndex = name === current ? 0 : -1;
    }
  };
  const select = (name) => { current = name; show(); saveSelection(); };
  const chooseSentence = (index) => {
    sentence = clamp(index, 0, sentences.length - 1);
    chooser.show();
    show();
    saveSelection();
  };
  const chooser = mountSentences(sentences, { current: () => sentence, choose: chooseSentence, words });
  const theme = mountTheme(words);
  const showLanguage = () => {
    document.documentElement.lang = language;
    $("language").textContent = words().otherLanguage;
    $("language").setAttribute("aria-label", words().otherLanguageHelp);
    $("language").lang = language === "ko" ? "en" : "ko";
    $("panels").setAttribute("aria-label", words().panels);
    for (const name of names) $(`open-${name}`).textContent = words()[name];
    theme.show();
    chooser.show();
    for (const { panel } of Object.values(opened)) panel.setLanguage(language);
  };

  $("title").textContent = title;
  $("panels").hidden = names.length < 2;
  $("panels").replaceChildren(...names.map((name) => make("button", {
    type: "button", role: "tab", id: `open-${name}`, "aria-controls": "panel-hosts", click: () => select(name),
  })));
  rove($("panels"), () => [...$("panels").children], (tab) => select(tab.id.slice("open-".length)));
  $("language").addEventListener("click", () => {
    language = language === "ko" ? "en" : "ko";
    showLanguage();
    saveSelection();
  });
  showLanguage();
  show();
};
