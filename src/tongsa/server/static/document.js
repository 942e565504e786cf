/** Translation of a text file: sentence by sentence as results arrive; line breaks and blank lines are kept. */
import { MAX_RETRIES, postStream, RequestError } from "./api.js";
import { codePointOffsets, countCharacters } from "./characters.js";
import { formatPercent, labels, onLanguageChange, sentenceNotes, unseenWordNotes } from "./labels.js";
import { hideNotice, showNotice } from "./notice.js";
import { joinSentences, locateSentence } from "./sentences.js";

const element = (id) => document.getElementById(id);
const ENCODINGS = ["utf-8", "euc-kr"];
/** Characters of one request, if the server allows that many. */
const MAX_PART = 4000;

const decode = (bytes) => {
  for (const encoding of ENCODINGS) {
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
      if (!text.includes("\0")) return text;
    } catch { /* another encoding */ }
  }
  throw new RequestError(labels().notText, "not_text", null);
};

/** Return where to split: after the last full line, else the last sentence, else the last word; 0 if there is none. */
const splitPosition = (text) => {
  const separators = [/\n/gu, /[.!?…。！？]["'”’)\]]*\s/gu, /\s/gu];
  for (const separator of separators) {
    const last = [...text.matchAll(separator)].pop();
    if (last) return last.index + last[0].length;
  }
  return 0;
};

/** Split a text in parts of at most `maxCharacters` characters, at line, sentence or word boundaries if possible. */
export const splitText = (text, maxCharacters) => {
  const parts = [], offsets = codePointOffsets(text), length = offsets.length - 1;
  let start = 0;
  while (start < length) {
    let end = Math.min(start + maxCharacters, length);
    if (end < length) {
      const part = text.slice(offsets[start], offsets[end]);
      const position = splitPosition(part);
      if (position) end = start + countCharacters(part.slice(0, position));
    }
    parts.push(text.slice(offsets[start], offsets[end]));
    start = end;
  }
  return parts;
};

/**
 * @param session request() of the translator
 * @param limits returns the server's limits, or {}
 */
export const setupDocuments = (session, limits) => {
  let controller = null, state = "", charactersDone = 0, charactersTotal = 0;
  let fileName = "", parts = []; // parts: [{text, sentences}]

  const sentenceCount = () => parts.reduce((sum, part) => sum + part.sentences.length, 0);
  const progress = () => (charactersTotal ? charactersDone / charactersTotal : 0);
  const showProgress = () => {
    if (!state) return;
    const count = sentenceCount();
    const texts = { running: labels().progress(count, formatPercent(progress())), finished: labels().finished(count), stopped: labels().stopped(count) };
    element("document-count").textContent = texts[state];
    element("document-progress").value = state === "finished" ? 1 : progress();
  };
  const addRow = (sentence, source) => {
    const row = document.createElement("li");
    for (const [text, lang] of [[source, element("source").lang], [sentence.text, element("result").lang]]) {
      const paragraph = document.createElement("p");
      Object.assign(paragraph, { textContent: text, lang, dir: "auto" });
      row.append(paragraph);
    }
    const notes = [...sentenceNotes({ ...sentence, retried: false }), ...unseenWordNotes([sentence])];
    if (notes.length) {
      const note = document.createElement("p");
      note.className = "flag small";
      note.textContent = notes.join(" ");
      row.append(note);
    }
    element("document-rows").append(row);
  };
  const finish = (newState) => {
    state = newState;
    controller = null;
    element("document-stop").hidden = true;
    for (const id of ["document-save", "document-table"]) element(id).disabled = !sentenceCount();
    showProgress();
  };

  const waitForRetry = (message, seconds, signal) => new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    showNotice(message, { seconds, retry: resolve });
  });
  const translatePart = async (part, charactersBefore, signal) => {
    const offsets = codePointOffsets(part.text);
    for await (const line of postStream("/v1/translate", { ...session.request(), text: part.text }, signal)) {
      if (!line.sentence) continue;
      // a retry sends the part from its beginning: skip the sentences that are known
      if (part.sentences.length && line.sentence.start < part.sentences[part.sentences.length - 1].start + 1) continue;
      const sentence = locateSentence(part.text, offsets, line.sentence);
      part.sentences.push(sentence);
      addRow(sentence, part.text.slice(sentence.begin, sentence.end));
      charactersDone = charactersBefore + line.sentence.end;
      showProgress();
    }
  };
  const translatePartWithRetries = async (part, charactersBefore, signal) => {
    let failures = 0;
    for (;;) {
      const countBefore = part.sentences.length;
      try {
        await translatePart(part, charactersBefore, signal);
        hideNotice();
        return;
      } catch (error) {
        if (!(error instanceof RequestError) || error.retryAfter === null) throw error;
        if (part.sentences.length > countBefore) failures = 0;
        if (error.isFailure && ++failures > MAX_RETRIES) throw error;
        await waitForRetry(error.message, error.retryAfter, signal);
      }
    }
  };
  const translate = async (text) => {
    if (controller) controller.abort();
    const current = controller = new AbortController();
    parts = [];
    [charactersDone, charactersTotal, state] = [0, countCharacters(text), "running"];
    element("document-work").hidden = false;
    element("document-name").textContent = fileName;
    element("document-rows").replaceChildren();
    element("document-stop").hidden = false;
    for (const id of ["document-save", "document-table"]) element(id).disabled = true;
    showProgress();
    let charactersBefore = 0;
    try {
      for (const partText of splitText(text, Math.min(limits().characters ?? MAX_PART, MAX_PART))) {
        const part = { text: partText, sentences: [] };
        parts.push(part);
        if (partText.trim()) await translatePartWithRetries(part, charactersBefore, current.signal);
        charactersBefore += countCharacters(partText);
        charactersDone = charactersBefore;
        showProgress();
      }
      finish("finished");
    } catch (error) {
      if (current !== controller) return; // another file was opened
      finish("stopped");
      if (error instanceof RequestError) showNotice(error.message);
      else if (error.name !== "AbortError") throw error;
    }
  };

  const open = async (file) => {
    if (!file) return;
    try {
      hideNotice();
      const text = decode(await file.arrayBuffer());
      if (!text.trim()) throw new RequestError(labels().emptyFile, "empty", null);
      fileName = file.name;
      await translate(text);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showNotice(error.message);
    }
  };
  const save = (content, suffix) => {
    const url = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" })), link = document.createElement("a");
    Object.assign(link, { href: url, download: `${fileName.replace(/\.[^.]*$/u, "")}${suffix}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const leadingSpace = (part) => part.text.slice(0, part.sentences[0].begin);
  const translation = () => parts.map((part) => (part.sentences.length ? leadingSpace(part) + joinSentences(part.text, part.sentences).trimStart() : part.text)).join("");
  const cell = (text) => text.replace(/\s+/gu, " ");
  const table = () => parts.flatMap((part) => part.sentences.map((sentence) => `${cell(part.text.slice(sentence.begin, sentence.end))}\t${cell(sentence.text)}\n`)).join("");

  const languageSuffix = () => (element("result").lang ? `.${element("result").lang}` : "");
  element("file").addEventListener("change", (event) => { open(event.target.files[0]); event.target.value = ""; });
  element("document-stop").addEventListener("click", () => { controller?.abort(); hideNotice(); });
  element("document-save").addEventListener("click", () => save(translation(), `${languageSuffix()}.txt`));
  element("document-table").addEventListener("click", () => save(table(), `${languageSuffix()}.tsv`));
  const drop = element("drop");
  for (const type of ["dragenter", "dragover"]) {
    drop.addEventListener(type, (event) => { event.preventDefault(); drop.classList.add("dragging"); });
  }
  for (const type of ["dragleave", "drop"]) drop.addEventListener(type, () => drop.classList.remove("dragging"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); open(event.dataTransfer.files[0]); });
  onLanguageChange(showProgress);
};
