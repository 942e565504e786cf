/** Glossary: terms that the translation must use, stored in this browser for each model. */
import { labels, onLanguageChange } from "./labels.js";
import { loadSetting, saveSetting } from "./storage.js";

const element = (id) => document.getElementById(id);

/**
 * @param onChange called when the terms have changed
 */
export const setupGlossary = (onChange) => {
  let model = "", maxTerms = Infinity;
  let rows = []; // {source, target, line, status}

  const terms = () => rows.map(({ source, target }) => ({ source: source.value.trim(), target: target.value.trim() })).filter((term) => term.source && term.target);
  const showCount = () => {
    element("glossary-count").textContent = labels().termCount(terms().length);
    element("add-term").disabled = rows.length >= maxTerms;
  };
  const save = () => {
    saveSetting(`terms.${model}`, terms());
    showCount();
    onChange();
  };
  const makeInput = (value, label) => {
    const input = document.createElement("input");
    Object.assign(input, { value, type: "text", dir: "auto", autocomplete: "off" });
    input.dataset.ariaLabel = input.dataset.placeholder = label;
    input.setAttribute("aria-label", labels()[label]);
    input.placeholder = labels()[label];
    input.addEventListener("change", save);
    return input;
  };
  const addRow = ({ source, target }) => {
    const line = document.createElement("li"), button = document.createElement("button"), status = document.createElement("span");
    const row = { source: makeInput(source, "termSource"), target: makeInput(target, "termTarget"), line, status };
    button.type = "button";
    button.className = "step";
    button.textContent = "×";
    button.dataset.ariaLabel = "removeTerm";
    button.setAttribute("aria-label", labels().removeTerm);
    button.addEventListener("click", () => removeRow(row));
    status.className = "term-status small";
    line.append(row.source, "→", row.target, status, button);
    rows.push(row);
    element("terms").append(line);
    return row;
  };
  const removeRow = (row) => {
    row.line.remove();
    rows = rows.filter((other) => other !== row);
    save();
    element("add-term").focus();
  };

  element("add-term").addEventListener("click", () => { addRow({ source: "", target: "" }).source.focus(); showCount(); });
  onLanguageChange(showCount);

  return {
    terms,
    useModel: (name, limit) => {
      model = name;
      maxTerms = limit ?? Infinity;
      rows = [];
      element("terms").replaceChildren();
      for (const term of loadSetting(`terms.${model}`, [])) addRow(term);
      if (!rows.length) addRow({ source: "", target: "" });
      showCount();
    },
    /** Show for each term whether the translation has it. */
    showResults: (sentences) => {
      const results = sentences.flatMap((sentence) => sentence.terms || []);
      for (const { source, target, status } of rows) {
        const matching = results.filter((term) => term.source === source.value.trim() && term.target === target.value.trim());
        const satisfied = matching.every((term) => term.satisfied);
        status.textContent = matching.length ? labels()[satisfied ? "termSatisfied" : "termUnsatisfied"] : "";
        status.title = matching.find((term) => term.skipped_reason)?.skipped_reason || "";
        status.classList.toggle("unsatisfied", !satisfied);
      }
    },
  };
};
