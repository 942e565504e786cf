/** Terms that the translation must use: kept in this browser, for each model. */
import { keep, kept } from "./keeping.js";
import { onLanguage, say } from "./words.js";

const element = (id) => document.getElementById(id);

/**
 * @param changed called when the terms are others than before
 */
export const glossary = (changed) => {
  let model = "", most = Infinity;
  let rows = []; // {source, target, line}

  const terms = () => rows.map(({ source, target }) => ({ source: source.value.trim(), target: target.value.trim() })).filter((one) => one.source && one.target);
  const count = () => {
    element("glossary-count").textContent = say().terms(terms().length);
    element("add-term").disabled = rows.length >= most;
  };
  const remember = () => {
    keep(`terms.${model}`, terms());
    count();
    changed();
  };
  const input = (value, label) => {
    const made = document.createElement("input");
    Object.assign(made, { value, type: "text", dir: "auto", autocomplete: "off" });
    made.dataset.label = label;
    made.setAttribute("aria-label", say()[label]);
    made.placeholder = say()[label];
    made.addEventListener("change", remember);
    return made;
  };
  const add = ({ source, target }) => {
    const line = document.createElement("li"), remove = document.createElement("button"), state = document.createElement("span");
    const row = { source: input(source, "termSource"), target: input(target, "termTarget"), line, state };
    remove.type = "button";
    remove.className = "step";
    remove.textContent = "×";
    remove.dataset.label = "removeTerm";
    remove.setAttribute("aria-label", say().removeTerm);
    remove.addEventListener("click", () => { drop(row); });
    state.className = "met small";
    line.append(row.source, "→", row.target, state, remove);
    rows.push(row);
    element("terms").append(line);
    return row;
  };
  const drop = (row) => {
    row.line.remove();
    rows = rows.filter((one) => one !== row);
    remember();
    element("add-term").focus();
  };

  element("add-term").addEventListener("click", () => { add({ source: "", target: "" }).source.focus(); count(); });
  onLanguage(() => {
    for (const { source, target } of rows) for (const made of [source, target]) made.placeholder = say()[made.dataset.label];
    count();
  });

  return {
    terms,
    use: (name, limit) => {
      model = name;
      most = limit ?? Infinity;
      rows = [];
      element("terms").replaceChildren();
      for (const term of kept(`terms.${model}`, [])) add(term);
      if (!rows.length) add({ source: "", target: "" });
      count();
    },
    /** What became of each term in the translation on the page. */
    judge: (sentences) => {
      const outcomes = sentences.flatMap((sentence) => sentence.terms || []);
      for (const { source, target, state } of rows) {
        const own = outcomes.filter((one) => one.source === source.value.trim() && one.target === target.value.trim());
        const met = own.every((one) => one.met);
        state.textContent = own.length ? say()[met ? "met" : "unmet"] : "";
        state.title = own.find((one) => one.given_up)?.given_up || "";
        state.classList.toggle("unmet", !met);
      }
    },
  };
};
