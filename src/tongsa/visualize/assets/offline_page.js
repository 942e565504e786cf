/** The self-contained page: one tab for each panel, each panel in a shadow root; the URL's hash keeps the selection. */
import { draw as drawAttention } from "./attention.js";
import { draw as drawCurves } from "./curves.js";
import { make } from "./dom.js";
import { draw as drawPositions } from "./positions.js";
import { draw as drawTree } from "./search_tree.js";

const PANELS = { attention: drawAttention, tree: drawTree, positions: drawPositions, curves: drawCurves };
const LABELS = {
  en: { attention: "Attention", tree: "Search tree", positions: "Positions", curves: "Training", otherLanguage: "한국어", otherLanguageHelp: "한국어로 보기", panels: "Panels" },
  ko: { attention: "어텐션", tree: "탐색 트리", positions: "위치", curves: "학습", otherLanguage: "English", otherLanguageHelp: "View in English", panels: "보기 종류" },
};
const element = (id) => document.getElementById(id);
const data = JSON.parse(element("data").textContent);
const names = Object.keys(PANELS).filter((name) => name in data.panels);

const selection = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
let language = ["en", "ko"].includes(selection.language) ? selection.language : (navigator.language || "").startsWith("ko") ? "ko" : "en";
let current = names.includes(selection.panel) ? selection.panel : names[0];
const saveSelection = (update = {}) => {
  Object.assign(selection, update, { language, panel: current });
  try { history.replaceState(null, "", `#${new URLSearchParams(selection)}`); } catch { /* a frame in a notebook has no URL of its own */ }
};

const sharedStyle = () => Array.from(document.querySelectorAll("style[data-shared]"), (style) => style.textContent).join("\n");
const panels = {}; // name → {host, panel}; drawn when first opened
const openPanel = (name) => {
  if (panels[name]) return panels[name];
  const host = make("div", { id: `panel-${name}`, role: "tabpanel", "aria-labelledby": `open-${name}` }), root = host.attachShadow({ mode: "open" });
  root.append(make("style", { text: sharedStyle() + element(`style-${name}`).textContent }));
  element("panel-hosts").append(host);
  panels[name] = { host, panel: PANELS[name](root, data.panels[name], { language, saved: selection, onChange: saveSelection }) };
  return panels[name];
};

const show = () => {
  const { host } = openPanel(current);
  for (const { host: other } of Object.values(panels)) other.hidden = other !== host;
  for (const name of names) {
    element(`open-${name}`).setAttribute("aria-selected", name === current);
    element(`open-${name}`).tabIndex = name === current ? 0 : -1;
  }
};
const showLanguage = () => {
  document.documentElement.lang = language;
  element("language").textContent = LABELS[language].otherLanguage;
  element("language").setAttribute("aria-label", LABELS[language].otherLanguageHelp);
  element("language").lang = language === "ko" ? "en" : "ko";
  element("panels").setAttribute("aria-label", LABELS[language].panels);
  for (const name of names) element(`open-${name}`).textContent = LABELS[language][name];
  for (const { panel } of Object.values(panels)) panel.setLanguage(language);
};
const select = (name) => {
  current = name;
  show();
  saveSelection();
};

element("title").textContent = data.title;
element("panels").hidden = names.length < 2;
element("panels").replaceChildren(...names.map((name) => make("button", { type: "button", role: "tab", id: `open-${name}`, "aria-controls": "panel-hosts", click: () => select(name) })));
element("panels").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  select(names[(names.indexOf(current) + step + names.length) % names.length]);
  element(`open-${current}`).focus();
});
element("language").addEventListener("click", () => {
  language = language === "ko" ? "en" : "ko";
  showLanguage();
  saveSelection();
});
showLanguage();
show();
