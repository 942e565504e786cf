/** Glossary: terms that the translation must use, stored in this browser for each model. */
import { $, make, saveBlob } from "./dom.js";
import { wordsOf } from "./state.js";
import { loadSetting, saveSetting } from "./storage.js";

/** @typedef {import("./state.js").Term} Term */
/** @typedef {{ source: HTMLInputElement, target: HTMLInputElement, line: HTMLElement, status: HTMLElement }} Row */

/** Return the terms of a table: source, tab, target in each line. @param {string} table @returns {Term[]} */
export const parseTerms = (table) =>
  table.split(/\r?\n/u).flatMap((line) => {
    const [source = "", target = ""] = line.split("\t").map((cell) => cell.trim());
    return source && target ? [{ source, target }] : [];
  });

/** @param {Term[]} terms */
export const formatTerms = (terms) => terms.map(({ source, target }) => `${source}\t${target}\n`).join("");

/**
 * Field of a term in the page's language.
 * @param {string} value
 * @param {"termSource" | "termTarget"} label
 * @param {import("./state.js").PageStore} store
 * @param {() => void} save
 */
const termInput = (value, label, store, save) => {
  const text = wordsOf(store.get())[label];
  const field = make("input", {
    type: "text",
    value,
    dir: "auto",
    autocomplete: "off",
    "data-aria-label": label,
    "data-placeholder": label,
    "aria-label": text,
    placeholder: text,
  });
  field.addEventListener("change", save);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) save();
  });
  return field;
};

/**
 * The rows of the glossary: one for each term, and their terms.
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {() => void} save
 */
const termRows = (root, store, save) => {
  /** @type {Row[]} */
  let rows = [];
  /** @param {Term} term */
  const add = (term) => {
    const line = make("li"),
      status = make("span", { class: "term-status small" });
    const source = termInput(term.source, "termSource", store, save),
      target = termInput(term.target, "termTarget", store, save),
      row = { source, target, line, status };
    const remove = () => {
      line.remove();
      rows = rows.filter((other) => other !== row);
      save();
      $("add-term", root).focus();
    };
    const button = make("button", {
      type: "button",
      class: "step",
      "data-aria-label": "removeTerm",
      "aria-label": wordsOf(store.get()).removeTerm,
      text: "×",
      click: remove,
    });
    line.append(row.source, "→", row.target, status, button);
    rows.push(row);
    $("terms", root).append(line);
    return row;
  };
  return {
    add,
    all: () => rows,
    read: () =>
      rows
        .map(({ source, target }) => ({ source: source.value.trim(), target: target.value.trim() }))
        .filter((term) => term.source && term.target),
    /** @param {Term[]} terms */
    show: (terms) => {
      rows = [];
      $("terms", root).replaceChildren();
      for (const term of terms.length ? terms : [{ source: "", target: "" }]) add(term);
    },
  };
};

/**
 * Say beside each term whether the translations have it.
 * @param {Row[]} rows
 * @param {import("./state.js").State} state
 */
const showStatus = (rows, state) => {
  const words = wordsOf(state),
    results = state.sentences.flatMap((sentence) => (sentence.isPending ? [] : (sentence.terms ?? [])));
  for (const { source, target, status } of rows) {
    const matching = results.filter(
      (term) => term.source === source.value.trim() && term.target === target.value.trim(),
    );
    const isSatisfied = matching.every((term) => term.satisfied);
    const isElsewhere = isSatisfied && matching.some((term) => !term.in_place);
    status.textContent = matching.length
      ? words[isElsewhere ? "termElsewhere" : isSatisfied ? "termSatisfied" : "termUnsatisfied"]
      : "";
    status.title = matching.find((term) => term.skipped_reason)?.skipped_reason ?? "";
    status.classList.toggle("unsatisfied", !isSatisfied || isElsewhere);
  }
};

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./session.js").Session} session
 */
export const mountGlossary = (root, store, session) => {
  const save = () => {
    const terms = rows.read();
    if (formatTerms(terms) === formatTerms(store.get().terms)) return;
    saveSetting(`terms.${store.get().model}`, terms);
    store.set({ terms });
    session.restart();
  };
  const rows = termRows(root, store, save);
  store.subscribe(["model"], ({ model }) => {
    const terms = model ? loadSetting(`terms.${model}`, []) : [];
    store.set({ terms });
    rows.show(terms);
  });
  store.subscribe(["terms", "limits", "language"], (state) => {
    $("glossary-count", root).textContent = wordsOf(state).termCount(state.terms.length);
    $("add-term", root).disabled = rows.all().length >= (state.limits.glossary_terms ?? Infinity);
    $("export-terms", root).disabled = !state.terms.length;
  });
  store.subscribe(["sentences", "terms", "language"], (state) => showStatus(rows.all(), state));
  $("add-term", root).addEventListener("click", () => rows.add({ source: "", target: "" }).source.focus());
  listenToFiles(root, store, (terms) => {
    rows.show([...rows.read(), ...terms].slice(0, store.get().limits.glossary_terms));
    save();
  });
};

/**
 * Save the terms as a table, and read one.
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {(terms: Term[]) => void} add
 */
const listenToFiles = (root, store, add) => {
  $("export-terms", root).addEventListener("click", () =>
    saveBlob(
      new Blob([formatTerms(store.get().terms)], { type: "text/tab-separated-values;charset=utf-8" }),
      `${store.get().model}.tsv`,
    ),
  );
  $("import-terms", root).addEventListener("change", async (/** @type {any} */ event) => {
    const [file] = event.target.files,
      terms = file ? parseTerms(await file.text()) : [];
    event.target.value = "";
    if (terms.length) add(terms);
    else store.set({ notice: { kind: "info", code: "no_terms" } });
  });
};
