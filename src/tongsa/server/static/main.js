/** The page, put together. */
import { alternatives } from "./alternatives.js";
import { documents } from "./document.js";
import { glossary } from "./glossary.js";
import { keep, kept } from "./keeping.js";
import { looking } from "./look.js";
import { models } from "./models.js";
import { calm, warn } from "./notice.js";
import { got, ready, Refusal } from "./server.js";
import { shortcuts } from "./shortcuts.js";
import { translator } from "./translator.js";
import { changeLanguage, onLanguage, say, speak } from "./words.js";

const element = (id) => document.getElementById(id);
const THEMES = ["system", "light", "dark"];

// ── what the page is made of ──
const terms = glossary(() => session.now());
const choice = models((model) => {
  terms.use(model.name, choice.limits().terms);
  session.restart();
});
const session = translator(choice, terms.terms, (sentences) => {
  others.show();
  terms.judge(sentences);
});
const others = alternatives(session);
documents(session, choice.limits);
looking((kind) => {
  const sentence = session.sentences()[Math.min(session.active(), session.sentences().length - 1)];
  const { model } = session.request();
  if (["positions", "curves"].includes(kind)) return { model }; // whatever the text
  if (!sentence) return { model, text: session.source() };
  return kind === "attention" ? { model, text: sentence.source, target: sentence.text } : { model, text: sentence.source };
});
shortcuts(() => session.now());

// ── its few buttons ──
element("language").addEventListener("click", changeLanguage);
onLanguage(() => {
  element("language").textContent = say().other;
  element("language").setAttribute("aria-label", say().otherLabel);
  element("language").lang = say().other === "English" ? "en" : "ko";
});

const theme = () => document.documentElement.dataset.theme || "system";
const showTheme = () => {
  element("theme").textContent = say().theme[theme()];
  element("theme").setAttribute("aria-label", say().themeLabel(say().theme[theme()]));
};
element("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  keep("theme", next);
  showTheme();
});
onLanguage(showTheme);

const mode = (name) => {
  for (const one of ["text", "document"]) {
    element(`${one}-mode`).hidden = one !== name;
    element(`mode-${one}`).setAttribute("aria-pressed", one === name);
  }
};
for (const name of ["text", "document"]) element(`mode-${name}`).addEventListener("click", () => mode(name));

const shade = () => element("result").classList.toggle("shaded", element("shading").checked);
element("shading").checked = kept("shading", true);
element("shading").addEventListener("change", () => { keep("shading", element("shading").checked); shade(); });
shade();

let copying = 0;
element("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(session.text()).catch(copyOldWay);
  element("copy").textContent = element("live").textContent = say().copied;
  clearTimeout(copying);
  copying = setTimeout(() => { element("copy").textContent = say().copy; }, 1500);
});
// over plain http from another machine there is no clipboard: the selection is copied
const copyOldWay = () => {
  const area = document.createElement("textarea");
  area.value = session.text();
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  element("copy").focus();
};

element("swap").addEventListener("click", () => {
  const text = session.text();
  const back = choice.opposite();
  if (!back) return;
  choice.use(back);
  session.write(text);
});

// ── the server, when it is ready ──
const begin = async () => {
  try {
    await ready();
    choice.known(await got("/v1/models"));
    calm();
    await session.now();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const loading = error.code !== "unreachable";
    warn(loading ? say().waiting : error.message, { seconds: error.after ?? 2, retry: begin, kind: loading ? "waiting" : "error" });
  }
};
speak();
element("source").focus();
begin();
