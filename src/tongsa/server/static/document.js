/** A whole file, sentence by sentence as each is ready; line breaks and blank lines stay where they are. */
import { count, places } from "./characters.js";
import { calm, warn } from "./notice.js";
import { joined, placed } from "./sentences.js";
import { Refusal, streamed, TRIES } from "./server.js";
import { onLanguage, percent, say } from "./words.js";

const element = (id) => document.getElementById(id);
const ENCODINGS = ["utf-8", "euc-kr"];
const PART = 4000;
/** Characters sent together where the server sets no limit. */

const decoded = (bytes) => {
  for (const encoding of ENCODINGS) {
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
      if (!text.includes("\0")) return text;
    } catch { /* not in this one */ }
  }
  throw new Refusal(say().noText, "no_text", null);
};

/** Where to cut: behind the last line that is whole, or the last sentence, or the last word; 0 where there is none. */
const cutOf = (piece) => {
  const ends = [/\n/gu, /[.!?…。！？]["'”’)\]]*\s/gu, /\s/gu];
  for (const end of ends) {
    const found = [...piece.matchAll(end)].pop();
    if (found) return found.index + found[0].length;
  }
  return 0;
};

/** The text in parts of at most `most` characters, none cut where it need not be. */
export const parts = (text, most) => {
  const found = [], table = places(text);
  let at = 0;
  while (at < table.length - 1) {
    let end = Math.min(at + most, table.length - 1);
    if (end < table.length - 1) {
      const piece = text.slice(table[at], table[end]);
      const cut = cutOf(piece);
      if (cut) end = at + count(piece.slice(0, cut));
    }
    found.push(text.slice(table[at], table[end]));
    at = end;
  }
  return found;
};

/**
 * @param session request() of the translator
 * @param limits the server's, or {}
 */
export const documents = (session, limits) => {
  let running = null, state = "", done = 0, total = 0;
  let name = "", finished = []; // [{text, sentences}]

  const sentences = () => finished.reduce((sum, part) => sum + part.sentences.length, 0);
  const showCount = () => {
    if (!state) return;
    const told = { running: say().sentences(sentences(), percent(total ? done / total : 0)), finished: say().finished(sentences()), stopped: say().stopped(sentences()) };
    element("document-count").textContent = told[state];
    element("document-progress").value = state === "finished" ? 1 : total ? done / total : 0;
  };
  const row = (sentence, source) => {
    const line = document.createElement("li");
    for (const [text, lang] of [[source, element("source").lang], [sentence.text, element("result").lang]]) {
      const side = document.createElement("p");
      Object.assign(side, { textContent: text, lang, dir: "auto" });
      line.append(side);
    }
    const flags = (sentence.flags || []).map((flag) => say().flags[flag] || flag);
    if (sentence.cut) flags.push(say().flags.cut);
    if (flags.length) {
      const note = document.createElement("p");
      note.className = "flag small";
      note.textContent = flags.join(" ");
      line.append(note);
    }
    element("document-rows").append(line);
  };
  const settled = (next) => {
    state = next;
    running = null;
    element("document-stop").hidden = true;
    for (const id of ["document-save", "document-table"]) element(id).disabled = !sentences();
    showCount();
  };

  const pause = (seconds, signal) => new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    warn(refusal(), { seconds, retry: resolve });
  });
  let lastRefusal = "";
  const refusal = () => lastRefusal;

  const translatePart = async (part, begin, signal) => {
    const table = places(part.text);
    for await (const line of streamed("/v1/translate", { ...session.request(), text: part.text }, signal)) {
      if (!line.sentence) continue;
      // after a broken connection the part comes again from its beginning
      if (part.sentences.length && line.sentence.start < part.sentences[part.sentences.length - 1].end) continue;
      const sentence = placed(part.text, table, line.sentence);
      part.sentences.push(sentence);
      row(sentence, part.text.slice(sentence.begin, sentence.finish));
      done = begin + line.sentence.end;
      showCount();
    }
  };
  const patiently = async (part, begin, signal) => {
    let failures = 0;
    for (;;) {
      const before = part.sentences.length;
      try {
        await translatePart(part, begin, signal);
        calm();
        return;
      } catch (error) {
        if (!(error instanceof Refusal) || error.after === null) throw error;
        if (part.sentences.length > before) failures = 0;
        if (error.failed && ++failures > TRIES) throw error;
        lastRefusal = error.message;
        await pause(error.after, signal);
      }
    }
  };
  const translate = async (text) => {
    if (running) running.abort();
    const own = running = new AbortController();
    finished = [];
    [done, total, state] = [0, count(text), "running"];
    element("document-work").hidden = false;
    element("document-name").textContent = name;
    element("document-rows").replaceChildren();
    element("document-stop").hidden = false;
    for (const id of ["document-save", "document-table"]) element(id).disabled = true;
    showCount();
    let begin = 0;
    try {
      for (const piece of parts(text, Math.min(limits().characters ?? PART, PART))) {
        const part = { text: piece, sentences: [] };
        finished.push(part);
        if (piece.trim()) await patiently(part, begin, own.signal);
        begin += count(piece);
        done = begin;
        showCount();
      }
      settled("finished");
    } catch (error) {
      if (own !== running) return;
      settled("stopped");
      if (error instanceof Refusal) warn(error.message);
      else if (error.name !== "AbortError") throw error;
    }
  };

  const open = async (file) => {
    if (!file) return;
    try {
      calm();
      const text = decoded(await file.arrayBuffer());
      if (!text.trim()) throw new Refusal(say().emptyFile, "empty", null);
      name = file.name;
      await translate(text);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      warn(error.message);
    }
  };
  const save = (content, ending) => {
    const address = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" })), link = document.createElement("a");
    Object.assign(link, { href: address, download: `${name.replace(/\.[^.]*$/u, "")}${ending}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const whole = () => finished.map((part) => (part.sentences.length ? leading(part) + joined(part.text, part.sentences).trimStart() : part.text)).join("");
  const leading = (part) => part.text.slice(0, part.sentences[0].begin);
  const cell = (text) => text.replace(/\s+/gu, " ");
  const table = () => finished.flatMap((part) => part.sentences.map((one) => `${cell(part.text.slice(one.begin, one.finish))}\t${cell(one.text)}\n`)).join("");

  const language = () => (element("result").lang ? `.${element("result").lang}` : "");
  element("file").addEventListener("change", (event) => { open(event.target.files[0]); event.target.value = ""; });
  element("document-stop").addEventListener("click", () => { running?.abort(); calm(); });
  element("document-save").addEventListener("click", () => save(whole(), `${language()}.txt`));
  element("document-table").addEventListener("click", () => save(table(), `${language()}.tsv`));
  const drop = element("drop");
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); open(event.dataTransfer.files[0]); });
  onLanguage(showCount);
  return { whole, table };
};
