/** Which model translates, and the way back: its languages, and the model for the other direction. */
import { keep, kept } from "./keeping.js";
import { languageName, onLanguage, say } from "./words.js";

const element = (id) => document.getElementById(id);
const direction = ({ source_language: from, target_language: to }) => (from && to ? `${languageName(from)} → ${languageName(to)}` : "");

/**
 * @param changed called when another model is chosen
 */
export const models = (changed) => {
  let all = [], limits = {}, model = null;

  const opposite = () => model && all.find((one) => one.task === "pairs" && model.source_language
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
    const labels = model?.task === "labels";
    element("source-title").textContent = languageName(model?.source_language) || say().source;
    element("target-title").textContent = labels ? say().label : languageName(model?.target_language) || say().target;
    for (const [id, code] of [["source", model?.source_language], ["result", labels ? "" : model?.target_language]]) {
      if (code) element(id).lang = code;
      else element(id).removeAttribute("lang");
    }
    for (const id of ["glossary", "mode-document", "shading"]) (id === "shading" ? element(id).parentElement : element(id)).hidden = labels;
    element("open-tree").hidden = labels;
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
      all = told.models.filter((one) => one.task !== "text");
      limits = told.limits || {};
      use(all.find((one) => one.name === kept("model", "")) || all.find((one) => one.default) || all[0]);
      return all.length;
    },
  };
};
