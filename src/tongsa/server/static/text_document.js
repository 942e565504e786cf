/** A plain text file: translated in parts, shown row by row; line breaks and blank lines are kept. */
import { MAX_RETRIES, postStream, RequestError } from "./api.js";
import { codePointOffsets, countCharacters } from "./characters.js";
import { $, saveBlob } from "./dom.js";
import { percent } from "./format.js";
import { errorNotice } from "./notice.js";
import { joinSentences, locateSentence, shownText } from "./segments.js";
import { currentModel, requestBase, wordsOf } from "./state.js";
import { splitText } from "./text_parts.js";

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
        const target = shownText(sentence, sentences.length);
        return `${cell(text.slice(sentence.begin, sentence.end))}\t${cell(target)}\n`;
      }),
    )
    .join("");
};

/**
 * Translate a part; a temporary failure is retried.
 * @param {import("./state.js").PageStore} store
 * @param {Part} part
 * @param {(response: any, sentence: import("./segments.js").Sentence) => void} onSentence
 * @param {AbortSignal} signal
 */
const translatePart = async (store, part, onSentence, signal) => {
  const offsets = codePointOffsets(part.text);
  for (let failures = 0; ;) {
    const countBefore = part.sentences.length;
    try {
      for await (const line of postStream("/v1/translate", { ...requestBase(store.get()), text: part.text }, signal)) {
        if (!line.sentence) continue;
        const sentence = locateSentence(part.text, offsets, line.sentence);
        // a retry sends the part from its beginning: skip the sentences that are known
        if (sentence.begin < (part.sentences.at(-1)?.end ?? 0)) continue;
        part.sentences.push(sentence);
        onSentence(line.sentence, sentence);
      }
      store.set({ notice: null });
      return;
    } catch (error) {
      if (!(error instanceof RequestError) || error.retryAfter === null) throw error;
      failures = part.sentences.length > countBefore ? 1 : failures + 1;
      if (error.isFailure && failures > MAX_RETRIES) throw error;
      await waitForRetry(store, error, failures, signal);
    }
  }
};

/**
 * @param {import("./state.js").PageStore} store
 * @param {RequestError} error
 * @param {number} failures
 * @param {AbortSignal} signal
 */
const waitForRetry = (store, error, failures, signal) =>
  new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")), { once: true });
    store.set({ notice: errorNotice(error, { retry: () => resolve(null), failures }) });
  });

/**
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 * @param {import("./document_view.js").DocumentView} view
 * @returns {{ translate: (content: string, name: string) => Promise<void>, leave: () => void }}
 */
export const createTextDocument = (root, store, view) => {
  /** @type {AbortController | null} */
  let controller = null;
  /** @type {Part[]} */
  let parts = [];
  let fileName = "",
    charactersDone = 0,
    charactersTotal = 0,
    state = "";

  const sentenceCount = () => parts.reduce((sum, part) => sum + part.sentences.length, 0);
  const baseName = () => {
    const language = currentModel(store.get())?.target_language ?? "";
    return `${fileName.replace(/\.[^./\\]+$/u, "")}${language ? `.${language}` : ""}`;
  };
  const saveText = () =>
    saveBlob(new Blob([joinParts(parts)], { type: "text/plain;charset=utf-8" }), `${baseName()}.txt`);
  const showProgress = () => {
    if (!state) return;
    const share = charactersTotal ? charactersDone / charactersTotal : 0,
      count = sentenceCount(),
      words = wordsOf(store.get());
    const ended = words[state === "finished" ? "finished" : "stopped"];
    const text = state === "running" ? words.progress(count, percent(share)) : ended(count);
    view.showProgress(text, state === "finished" ? 1 : share);
  };
  /** @param {string} content @param {AbortSignal} signal */
  const translateParts = async (content, signal) => {
    let charactersBefore = 0;
    for (const text of splitText(content, Math.min(store.get().limits.characters ?? MAX_PART, MAX_PART))) {
      /** @type {Part} */
      const part = { text, sentences: [] };
      parts.push(part);
      /** @param {any} response @param {import("./segments.js").Sentence} sentence */
      const show = (response, sentence) => {
        view.addRow(sentence, text.slice(sentence.begin, sentence.end), response.text);
        charactersDone = charactersBefore + response.end;
        showProgress();
      };
      if (text.trim()) await translatePart(store, part, show, signal);
      charactersBefore += countCharacters(text);
      charactersDone = charactersBefore;
      showProgress();
    }
  };
  /** @param {"finished" | "stopped"} end */
  const finish = (end) => {
    state = end;
    controller = null;
    view.finishRows(sentenceCount() > 0, saveText);
    showProgress();
  };

  $("document-table", root).addEventListener("click", () =>
    saveBlob(new Blob([partsTable(parts)], { type: "text/tab-separated-values;charset=utf-8" }), `${baseName()}.tsv`),
  );
  store.subscribe(["language"], showProgress);
  return {
    /** Another document takes the place of this one. */
    leave: () => {
      controller?.abort();
      controller = null;
      [parts, state] = [[], ""];
    },
    translate: async (content, name) => {
      controller?.abort();
      const current = (controller = new AbortController());
      view.start(name, () => current.abort());
      [parts, fileName, charactersDone, charactersTotal, state] = [[], name, 0, countCharacters(content), "running"];
      showProgress();
      try {
        await translateParts(content, current.signal);
        finish("finished");
      } catch (error) {
        if (current !== controller) return; // another file was opened
        finish("stopped");
        if (error instanceof RequestError) store.set({ notice: { ...errorNotice(error), retryAt: null } });
        else if (!(error instanceof DOMException)) throw error;
      }
    },
  };
};
