/** A plain text file: translated in parts, shown row by row; line breaks and blank lines are kept. */
import { MAX_RETRIES, postStream, RequestError } from "./api.js";
import { codePointOffsets, countCharacters } from "./characters.js";
import { $, make, saveBlob } from "./dom.js";
import { percent } from "./format.js";
import { errorNotice } from "./notice.js";
import { addedStop, joinSentences, locateSentence } from "./segments.js";
import { currentModel, requestBase, wordsOf } from "./state.js";
import { splitText } from "./text_parts.js";
import { sentenceNotes } from "./words.js";

/** @typedef {{ text: string, sentences: import("./segments.js").Sentence[] }} Part */

/** Characters of one request, if the server allows that many. */
const MAX_PART = 4000;

/** Return the translated text. @param {Part[]} parts */
export const joinParts = (parts) =>
  parts.map(({ text, sentences }) => (sentences.length ? joinSentences(text, sentences) : text)).join("");

/** Return a table of the sentences: source, tab, translation. @param {Part[]} parts */
export const partsTable = (parts) => {
  /** @param {string} text */
  const cell = (text) => text.replace(/\s+/gu, " ");
  return parts
    .flatMap(({ text, sentences }) =>
      sentences.map((sentence) => {
        const target = sentence.text + addedStop(sentence, sentences.length);
        return `${cell(text.slice(sentence.begin, sentence.end))}\t${cell(target)}\n`;
      }),
    )
    .join("");
};

/** @param {Document} root @param {import("./state.js").PageStore} store */
export const createTextDocument = (root, store) => {
  /** @type {AbortController | null} */
  let controller = null;
  /** @type {Part[]} */
  let parts = [];
  /** @type {() => void} */
  let stop = () => {},
    save = () => {};
  let fileName = "",
    charactersDone = 0,
    charactersTotal = 0,
    state = "";

  const sentenceCount = () => parts.reduce((sum, part) => sum + part.sentences.length, 0);
  const language = () => currentModel(store.get())?.target_language ?? "";
  const showProgress = () => {
    const share = charactersTotal ? charactersDone / charactersTotal : 0,
      count = sentenceCount(),
      words = wordsOf(store.get());
    if (!state) return;
    $("document-count", root).textContent =
      state === "running"
        ? words.progress(count, percent(share))
        : words[state === "finished" ? "finished" : "stopped"](count);
    $("document-progress", root).value = state === "finished" ? 1 : share;
  };
  /** @param {import("./segments.js").Sentence} sentence @param {string} source @param {string} target */
  const addRow = (sentence, source, target) => {
    const model = currentModel(store.get()),
      notes = sentenceNotes({ ...sentence, retried: false }, wordsOf(store.get()));
    const row = make(
      "li",
      {},
      make("p", { text: source, lang: model?.source_language ?? "", dir: "auto" }),
      make("p", { text: target, lang: language(), dir: "auto" }),
    );
    if (notes.length) row.append(make("p", { class: "flag small", text: notes.join(" ") }));
    $("document-rows", root).append(row);
  };
  /**
   * Show a segment of another format that should be checked.
   * @param {{ location: string, source: string, flags: string[] }} segment
   */
  const addFlagged = ({ location, source, flags }) => {
    const sentences = /** @type {Record<string, string>} */ (wordsOf(store.get()).flags);
    $("document-rows", root).append(
      make(
        "li",
        {},
        make("p", { text: source, dir: "auto" }),
        make("p", { class: "quiet small", text: location }),
        make("p", { class: "flag small", text: flags.map((flag) => sentences[flag] ?? flag).join(" ") }),
      ),
    );
  };
  /** @param {string} name @param {() => void} onStop */
  const start = (name, onStop) => {
    controller?.abort();
    [stop, parts, fileName, state] = [onStop, [], name, ""];
    $("document-work", root).hidden = false;
    $("document-name", root).textContent = name;
    $("document-rows", root).replaceChildren();
    $("document-stop", root).hidden = false;
    for (const id of ["document-save", "document-table"]) $(id, root).disabled = true;
    $("document-table", root).hidden = false;
  };
  /** @param {string} message @param {(() => void) | null} onSave */
  const finish = (message, onSave) => {
    if (onSave) save = onSave;
    $("document-count", root).textContent = message;
    $("document-progress", root).value = onSave ? 1 : 0;
    $("document-stop", root).hidden = true;
    $("document-save", root).disabled = !onSave;
    $("document-table", root).hidden = true;
  };
  /** @param {RequestError} error @param {number} failures @param {AbortSignal} signal */
  const waitForRetry = (error, failures, signal) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")), { once: true });
      store.set({ notice: errorNotice(error, { retry: () => resolve(null), failures }) });
    });
  /** @param {Part} part @param {number} charactersBefore @param {AbortSignal} signal */
  const translatePart = async (part, charactersBefore, signal) => {
    const offsets = codePointOffsets(part.text);
    for await (const line of postStream("/v1/translate", { ...requestBase(store.get()), text: part.text }, signal)) {
      if (!line.sentence) continue;
      const sentence = locateSentence(part.text, offsets, line.sentence);
      // a retry sends the part from its beginning: skip the sentences that are known
      if (sentence.begin < (part.sentences.at(-1)?.end ?? 0)) continue;
      part.sentences.push(sentence);
      addRow(sentence, part.text.slice(sentence.begin, sentence.end), line.sentence.text);
      charactersDone = charactersBefore + line.sentence.end;
      showProgress();
    }
  };
  /** @param {Part} part @param {number} charactersBefore @param {AbortSignal} signal */
  const translateWithRetries = async (part, charactersBefore, signal) => {
    for (let failures = 0; ;) {
      const countBefore = part.sentences.length;
      try {
        await translatePart(part, charactersBefore, signal);
        store.set({ notice: null });
        return;
      } catch (error) {
        if (!(error instanceof RequestError) || error.retryAfter === null) throw error;
        failures = part.sentences.length > countBefore ? 1 : failures + 1;
        if (error.isFailure && failures > MAX_RETRIES) throw error;
        await waitForRetry(error, failures, signal);
      }
    }
  };
  /** @param {"finished" | "stopped"} end */
  const finishText = (end) => {
    state = end;
    controller = null;
    $("document-stop", root).hidden = true;
    for (const id of ["document-save", "document-table"]) $(id, root).disabled = !sentenceCount();
    showProgress();
  };
  /** @param {string} content @param {string} name */
  const translate = async (content, name) => {
    start(name, () => controller?.abort());
    const current = (controller = new AbortController());
    let charactersBefore = 0;
    [charactersDone, charactersTotal, state] = [0, countCharacters(content), "running"];
    save = () => saveBlob(new Blob([joinParts(parts)], { type: "text/plain;charset=utf-8" }), `${baseName()}.txt`);
    showProgress();
    try {
      for (const text of splitText(content, Math.min(store.get().limits.characters ?? MAX_PART, MAX_PART))) {
        /** @type {Part} */
        const part = { text, sentences: [] };
        parts.push(part);
        if (text.trim()) await translateWithRetries(part, charactersBefore, current.signal);
        charactersBefore += countCharacters(text);
        charactersDone = charactersBefore;
        showProgress();
      }
      finishText("finished");
    } catch (error) {
      if (current !== controller) return; // another file was opened
      finishText("stopped");
      if (error instanceof RequestError) store.set({ notice: { ...errorNotice(error), retryAt: null } });
      else if (!(error instanceof DOMException)) throw error;
    }
  };
  const baseName = () => `${fileName.replace(/\.[^./\\]+$/u, "")}${language() ? `.${language()}` : ""}`;

  $("document-stop", root).addEventListener("click", () => {
    stop();
    store.set({ notice: null });
  });
  $("document-save", root).addEventListener("click", () => save());
  $("document-table", root).addEventListener("click", () =>
    saveBlob(new Blob([partsTable(parts)], { type: "text/tab-separated-values;charset=utf-8" }), `${baseName()}.tsv`),
  );
  store.subscribe(["language"], showProgress);
  return { start, finish, addFlagged, translate };
};
