/** The offline page: one panel for each way to look, each in a room of its own; the address keeps what is chosen. */
import { draw as drawAttention } from "./attention.js";
import { draw as drawCurves } from "./curves.js";
import { make } from "./elements.js";
import { draw as drawPositions } from "./positions.js";
import { draw as drawTree } from "./search_tree.js";

const PANELS = { attention: drawAttention, tree: drawTree, positions: drawPositions, curves: drawCurves };
const NAMES = {
  en: { attention: "Attention", tree: "Search tree", positions: "Positions", curves: "Training", other: "한국어", otherLabel: "한국어로 보기", panels: "What to look at" },
  ko: { attention: "어텐션", tree: "탐색 트리", positions: "위치", curves: "학습", other: "English", otherLabel: "View in English", panels: "볼 내용" },
};
const element = (id) => document.getElementById(id);
const data = JSON.parse(element("data").textContent);
const kinds = Object.keys(PANELS).filter((kind) => kind in data.panels);

const kept = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
let language = ["en", "ko"].includes(kept.language) ? kept.language : (navigator.language || "").startsWith("ko") ? "ko" : "en";
let shown = kinds.includes(kept.panel) ? kept.panel : kinds[0];
const remember = (what = {}) => {
  Object.assign(kept, what, { language, panel: shown });
  try { history.replaceState(null, "", `#${new URLSearchParams(kept)}`); } catch { /* inside a notebook's frame there is no address to keep */ }
};

const style = () => Array.from(document.querySelectorAll("style[data-room]"), (one) => one.textContent).join("\n");
const rooms = {}; // kind → {host, panel}; made when first looked at
const opened = (kind) => {
  if (rooms[kind]) return rooms[kind];
  const host = make("div", { id: `room-${kind}`, role: "tabpanel", "aria-labelledby": `open-${kind}` }), root = host.attachShadow({ mode: "open" });
  root.append(make("style", { text: style() + element(`style-${kind}`).textContent }));
  element("rooms").append(host);
  rooms[kind] = { host, panel: PANELS[kind](root, data.panels[kind], { language, chosen: kept, changed: remember }) };
  return rooms[kind];
};

const show = () => {
  const { host } = opened(shown);
  for (const { host: other } of Object.values(rooms)) other.hidden = other !== host;
  for (const kind of kinds) {
    element(`open-${kind}`).setAttribute("aria-selected", kind === shown);
    element(`open-${kind}`).tabIndex = kind === shown ? 0 : -1;
  }
};
const speak = () => {
  document.documentElement.lang = language;
  element("language").textContent = NAMES[language].other;
  element("language").setAttribute("aria-label", NAMES[language].otherLabel);
  element("language").lang = language === "ko" ? "en" : "ko";
  element("panels").setAttribute("aria-label", NAMES[language].panels);
  for (const kind of kinds) element(`open-${kind}`).textContent = NAMES[language][kind];
  for (const { panel } of Object.values(rooms)) panel.speak(language);
};
const open = (kind) => {
  shown = kind;
  show();
  remember();
};

element("title").textContent = data.title;
element("panels").hidden = kinds.length < 2;
element("panels").replaceChildren(...kinds.map((kind) => make("button", { type: "button", role: "tab", id: `open-${kind}`, "aria-controls": "rooms", click: () => open(kind) })));
element("panels").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  open(kinds[(kinds.indexOf(shown) + step + kinds.length) % kinds.length]);
  element(`open-${shown}`).focus();
});
element("language").addEventListener("click", () => {
  language = language === "ko" ? "en" : "ko";
  speak();
  remember();
});
speak();
show();
