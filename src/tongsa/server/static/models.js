/** The selected model, the views it has, and the model for the opposite direction. */
import { labels, languageName, onLanguageChange } from "./labels.js";
import { loadSetting, saveSetting } from "./storage.js";

const VIEWS = ["attention", "tree", "positions", "curves"];
/** Element → the tasks for which it is shown. */
const TASKS = { glossary: ["seq2seq"], "mode-document": ["seq2seq"], "shading-field": ["seq2seq", "language_model"], copy: ["seq2seq"] };
const element = (id) => document.getElementById(id);
const direction = ({ source_language: source, target_language: target }) => (source && target ? `${languageName(source)} → ${languageName(target)}` : "");

/**
 * @param onChange called with the model when another one is selected
 */
export const setupModels = (onChange) => {
  let models = [], limits = {}, model = null;

  const opposite = () => model?.task === "seq2seq" && models.find((other) => other.task === "seq2seq" && model.source_language
    && other.source_language === model.target_language && other.target_language === model.source_language);

  const showSwap = () => {
    const swap = element("swap"), isPossible = Boolean(opposite());
    swap.disabled = !isPossible;
    const label = isPossible || !model?.source_language ? labels().swap : labels().noSwap(languageName(model.target_language), languageName(model.source_language));
    swap.setAttribute("aria-label", label);
    swap.title = label;
  };
  const show = () => {
    element("model").replaceChildren(...models.map((other) => {
      const option = document.createElement("option");
      option.value = other.name;
      option.textContent = [other.name, direction(other)].filter(Boolean).join(" · ");
      return option;
    }));
    element("model").value = model?.name ?? "";
    element("model").disabled = models.length < 2;
    const task = model?.task ?? "seq2seq", targetLanguage = task === "seq2seq" ? model?.target_language : "";
    element("source-title").textContent = languageName(model?.source_language) || labels().source;
    element("target-title").textContent = { seq2seq: languageName(targetLanguage) || labels().target, classification: labels().label, language_model: labels().probability }[task];
    for (const [id, language] of [["source", model?.source_language], ["result", targetLanguage]]) {
      if (language) element(id).lang = language;
      else element(id).removeAttribute("lang");
    }
    for (const [id, tasks] of Object.entries(TASKS)) element(id).hidden = !tasks.includes(task);
    for (const view of VIEWS) element(`open-${view}`).hidden = !model?.views.includes(view);
    showSwap();
  };
  const use = (next) => {
    if (!next || next === model) return;
    model = next;
    saveSetting("model", model.name);
    show();
    onChange(model);
  };

  element("model").addEventListener("change", (event) => use(models.find((other) => other.name === event.target.value)));
  onLanguageChange(show);
  return {
    model: () => model,
    limits: () => limits,
    opposite,
    use,
    /** Use the response of /v1/models; select the model used last, or the default. */
    load: (response) => {
      models = response.models;
      limits = response.limits || {};
      use(models.find((other) => other.name === loadSetting("model", "")) || models.find((other) => other.default) || models[0]);
    },
  };
};
