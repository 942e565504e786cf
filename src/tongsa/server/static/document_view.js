/** The work on a document: its name, progress, rows of sentences, buttons to stop and to save. */
import { $, make } from "./dom.js";
import { currentModel, wordsOf } from "./state.js";
import { sentenceNotes } from "./words.js";

/** @typedef {ReturnType<typeof createDocumentView>} DocumentView */

/** @param {Document} root @param {import("./state.js").PageStore} store */
export const createDocumentView = (root, store) => {
  /** @type {() => void} */
  let stop = () => {},
    save = () => {};

  $("document-stop", root).addEventListener("click", () => {
    stop();
    store.set({ notice: null });
  });
  $("document-save", root).addEventListener("click", () => save());
  return {
    /** Show that a document is being translated. @param {string} name @param {() => void} onStop */
    start: (name, onStop) => {
      stop = onStop;
      $("document-work", root).hidden = false;
      $("document-name", root).textContent = name;
      $("document-rows", root).replaceChildren();
      $("document-stop", root).hidden = false;
      for (const id of ["document-save", "document-table"]) $(id, root).disabled = true;
      $("document-table", root).hidden = false;
    },
    /** @param {string} message @param {(() => void) | null} onSave null if there is nothing to save */
    finish: (message, onSave) => {
      if (onSave) save = onSave;
      $("document-count", root).textContent = message;
      $("document-progress", root).value = onSave ? 1 : 0;
      $("document-stop", root).hidden = true;
      $("document-save", root).disabled = !onSave;
      $("document-table", root).hidden = true;
    },
    /** Let the rows so far be saved, as a text and as a table. @param {boolean} hasRows @param {() => void} onSave */
    finishRows: (hasRows, onSave) => {
      save = onSave;
      $("document-stop", root).hidden = true;
      for (const id of ["document-save", "document-table"]) $(id, root).disabled = !hasRows;
    },
    /** @param {string} text @param {number} share */
    showProgress: (text, share) => {
      $("document-count", root).textContent = text;
      $("document-progress", root).value = share;
    },
    /** @param {import("./segments.js").Sentence} sentence @param {string} source @param {string} target */
    addRow: (sentence, source, target) => {
      const model = currentModel(store.get()),
        notes = sentenceNotes({ ...sentence, retried: false }, wordsOf(store.get()));
      const row = make(
        "li",
        {},
        make("p", { text: source, lang: model?.source_language ?? "", dir: "auto" }),
        make("p", { text: target, lang: model?.target_language ?? "", dir: "auto" }),
      );
      if (notes.length) row.append(make("p", { class: "flag small", text: notes.join(" ") }));
      $("document-rows", root).append(row);
    },
    /**
     * Show a segment of another format that should be checked.
     * @param {{ location: string, source: string, flags: string[] }} segment
     */
    addFlagged: ({ location, source, flags }) => {
      const sentences = /** @type {Record<string, string>} */ (wordsOf(store.get()).flags);
      const text = flags.map((flag) => sentences[flag] ?? flag).join(" ");
      $("document-rows", root).append(
        make(
          "li",
          {},
          make("p", { text: source, dir: "auto" }),
          make("p", { class: "quiet small", text: location }),
          make("p", { class: "flag small", text }),
        ),
      );
    },
  };
};
