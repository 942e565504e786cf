/** Which model is asked, what can be looked at in it, and the way back: the model for the other direction. */
import { keep, kept } from "./keeping.js";
import { languageName, onLanguage, say } from "./words.js";

const VIEWS = ["attention", "tree", "positions", "curves"];
const TASKS = { glossary: ["pairs"], "mode-document": ["pairs"], "shading-field": ["pairs", "text"], copy: ["pairs"] };
/** Element → the tasks that have it. */
const element = (id) => document.getElementById(id);
const direction = ({ source_language: from, target_language: to }) => (from && to ? `${languageName(from)} → ${languageName(to)}` : "");

/**
 * @param changed called when another model is chosen
 */
export const models = (changed) => {
  let all = [], limits = {}, model = null;

  const opposite = () => model?.task === "pairs" && all.find((one) => one.task === "pairs" && model.source_language
    && one.source_language === model.target_language && one.target_language === model.source_language);

  const showSwap = () => {
    const swap = element("swap"), possible = Boolean(opposite());
    swap.disabled = !possible;
    const label = possible || !model?.source_language ? say().swap : say().noSwap(languageName(model.target_language), languageName(model.source_language));
    swap.setAttribute("aria-label", label);
    swap.title = label;
  };
  const show = () => {
    element("model").replaceChildren(...all.map((one) => {
      const option = document.createElement("option");
      option.value = one.name;
      option.textContent = [one.name, direction(one)].filter(Boolean).join(" · ");
      return option;
    }));
    element("model").value = model?.name ?? "";
    element("model").disabled = all.length < 2;
    const task = model?.task ?? "pairs", written = task === "pairs" ? model?.target_language : "";
    element("source-title").textContent = languageName(model?.source_language) || say().source;
    element("target-title").textContent = { pairs: languageName(written) || say().target, labels: say().label, text: say().likelihood }[task];
    for (const [id, code] of [["source", model?.source_language], ["result", written]]) {
      if (code) element(id).lang = code;
      else element(id).removeAttribute("lang");
    }
    for (const [id, tasks] of Object.entries(TASKS)) element(id).hidden = !tasks.includes(task);
    for (const view of VIEWS) element(`open-${view}`).hidden = !model?.views.includes(view);
    showSwap();
  };
  const use = (next) => {
    if (!next || next === model) return;
    model = next;
    keep("model", model.name);
    show();
    changed(model);
  };

  element("model").addEventListener("change", (event) => use(all.find((one) => one.name === event.target.value)));
  onLanguage(show);
  return {
    model: () => model,
    limits: () => limits,
    opposite,
    use,
    known: (told) => {
      all = told.models;
      limits = told.limits || {};
      use(all.find((one) => one.name === kept("model", "")) || all.find((one) => one.default) || all[0]);
    },
  };
};
