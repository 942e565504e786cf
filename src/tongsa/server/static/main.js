/** The page: creates its parts and connects them. */
import { setupAlternatives } from "./alternatives.js";
import { checkReady, getJSON, RequestError } from "./api.js";
import { setupDocuments } from "./document.js";
import { setupGlossary } from "./glossary.js";
import { applyLanguage, labels, onLanguageChange, switchLanguage } from "./labels.js";
import { setupModels } from "./models.js";
import { hideNotice, showNotice } from "./notice.js";
import { setupShortcuts } from "./shortcuts.js";
import { loadSetting, saveSetting } from "./storage.js";
import { setupTranslator } from "./translator.js";
import { setupViews } from "./views.js";

const element = (id) => document.getElementById(id);
const THEMES = ["system", "light", "dark"];

// ── parts ──
const glossary = setupGlossary(() => translator.translateNow());
const models = setupModels((model) => {
  glossary.useModel(model.name, models.limits().glossary_terms);
  translator.restart();
});
const translator = setupTranslator(models, glossary.terms, (sentences) => {
  alternatives.show();
  glossary.showResults(sentences);
});
const alternatives = setupAlternatives(translator);
setupDocuments(translator, models.limits);
setupViews((view) => {
  const sentence = translator.sentences()[Math.min(translator.active(), translator.sentences().length - 1)];
  const { model } = translator.request();
  if (["positions", "curves"].includes(view)) return { model }; // independent of the text
  if (!sentence) return { model, text: translator.source() };
  return view === "attention" ? { model, text: sentence.source, target: sentence.text } : { model, text: sentence.source };
});
setupShortcuts(() => translator.translateNow());

// ── buttons ──
element("language").addEventListener("click", switchLanguage);
onLanguageChange(() => {
  element("language").textContent = labels().otherLanguage;
  element("language").setAttribute("aria-label", labels().otherLanguageLabel);
  element("language").lang = labels().otherLanguage === "English" ? "en" : "ko";
});

const theme = () => document.documentElement.dataset.theme || "system";
const showTheme = () => {
  element("theme").textContent = labels().theme[theme()];
  element("theme").setAttribute("aria-label", labels().themeLabel(labels().theme[theme()]));
};
element("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  saveSetting("theme", next);
  showTheme();
});
onLanguageChange(showTheme);

const MODES = ["text", "document"];
const showMode = (mode) => {
  for (const name of MODES) {
    element(`${name}-mode`).hidden = name !== mode;
    element(`mode-${name}`).setAttribute("aria-pressed", name === mode);
  }
};
for (const mode of MODES) element(`mode-${mode}`).addEventListener("click", () => showMode(mode));

const showShading = () => element("result").classList.toggle("shaded", element("shading").checked);
element("shading").checked = loadSetting("shading", true);
element("shading").addEventListener("change", () => { saveSetting("shading", element("shading").checked); showShading(); });
showShading();

let copiedTimer = 0;
element("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(translator.text()).catch(copySelection);
  element("copy").textContent = element("live").textContent = labels().copied;
  clearTimeout(copiedTimer);
  copiedTimer = setTimeout(() => { element("copy").textContent = labels().copy; }, 1500);
});
// over plain http from another machine there is no clipboard API
const copySelection = () => {
  const area = document.createElement("textarea");
  area.value = translator.text();
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  element("copy").focus();
};

element("swap").addEventListener("click", () => {
  const text = translator.text();
  const model = models.opposite();
  if (!model) return;
  models.use(model);
  translator.setSource(text);
});

// ── start ──
const connect = async () => {
  try {
    await checkReady();
    models.load(await getJSON("/v1/models"));
    hideNotice();
    await translator.translateNow();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const isLoading = error.code !== "unreachable";
    showNotice(isLoading ? labels().modelLoading : error.message, { seconds: error.retryAfter ?? 2, retry: connect, kind: isLoading ? "waiting" : "error" });
  }
};
applyLanguage();
element("source").focus();
connect();
