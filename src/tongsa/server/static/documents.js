/**
 * Translation of a file. Plain text is translated here, sentence by sentence; other formats by the server, which keeps
 * them.
 */
import { getJSON, request, RequestError } from "./api.js";
import { createDocumentView } from "./document_view.js";
import { $, saveBlob } from "./dom.js";
import { errorNotice } from "./notice.js";
import { currentModel, wordsOf } from "./state.js";
import { createTextDocument } from "./text_document.js";

const ENCODINGS = ["utf-8", "euc-kr"];
/** @param {ArrayBuffer} bytes */
export const decodeText = (bytes) => {
  for (const encoding of ENCODINGS) {
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
      if (!text.includes("\0")) return text;
    } catch {
      /* another encoding */
    }
  }
  throw new RequestError("not_text");
};

/** @param {string} content */
export const decodeBase64 = (content) => Uint8Array.from(atob(content), (character) => character.charCodeAt(0));

/** Return the extension of a file name in lower case, with its dot, or "". @param {string} name */
export const extensionOf = (name) => name.match(/\.[^./\\]+$/u)?.[0].toLowerCase() ?? "";

/**
 * Return the name of the translated file: book.srt becomes book.ko.srt.
 * @param {string} name
 * @param {string} language
 * @param {string} extension
 */
export const translatedName = (name, language, extension) =>
  `${name.replace(/\.[^./\\]+$/u, "")}${language ? `.${language}` : ""}${extension}`;

/**
 * Show which formats are accepted; the server is asked once which ones it keeps.
 * @param {Document} root
 * @param {import("./state.js").PageStore} store
 */
const mountFormats = (root, store) => {
  const extensions = () => [...new Set([".txt", ...store.get().formats.flatMap((format) => format.extensions)])];
  /** @param {string} extension */
  const hasColumns = (extension) =>
    store.get().formats.some((format) => format.has_columns && format.extensions.includes(extension));
  /** A server that knows no formats keeps plain text only. */
  const load = async () => {
    try {
      const { formats } = await getJSON("/v1/formats");
      store.set({ formats });
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    }
  };
  /** @type {Promise<void> | null} */
  let loading = null;
  const loadOnce = () => (loading ??= load());
  store.subscribe(["mode"], ({ mode }) => {
    if (mode === "document") loadOnce();
  });
  store.subscribe(["formats", "language"], (state) => {
    $("file", root).accept = extensions().join(",");
    $("document-help", root).textContent = wordsOf(state).documentHelp(extensions());
    $("columns-field", root).hidden = !extensions().some(hasColumns);
  });
  return { extensions, hasColumns, loadOnce };
};

/**
 * Open files that are chosen, or dropped anywhere: a dropped file must not replace the page.
 * @param {Document} root
 * @param {(file: File | undefined) => void} open
 */
const listenToFiles = (root, open) => {
  $("file", root).addEventListener("change", (/** @type {any} */ event) => {
    open(event.target.files[0]);
    event.target.value = "";
  });
  const drop = $("drop", root);
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  root.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.classList.add("dragging");
  });
  root.addEventListener("dragleave", () => drop.classList.remove("dragging"));
  root.addEventListener("drop", (event) => {
    drop.classList.remove("dragging");
    if (!hasFiles(event)) return;
    event.preventDefault();
    open(event.dataTransfer?.files[0]);
  });
};

/** @param {Document} root @param {import("./state.js").PageStore} store */
export const mountDocuments = (root, store) => {
  /** @type {AbortController | null} */
  let controller = null;
  const view = createDocumentView(root, store),
    text = createTextDocument(root, store, view),
    { extensions, hasColumns, loadOnce } = mountFormats(root, store);

  /** @param {File} file */
  const formOf = (file) => {
    const { model, terms } = store.get(),
      form = new FormData(),
      columns = $("columns", root).value.trim();
    form.set("file", file);
    form.set("model", model);
    if (terms.length) form.set("glossary", JSON.stringify(terms));
    if (columns && hasColumns(extensionOf(file.name))) form.set("columns", columns);
    return form;
  };
  /** Send a file; the server answers with the translated one. @param {File} file */
  const convert = async (file) => {
    const current = (controller = new AbortController()),
      { signal } = current,
      language = currentModel(store.get())?.target_language ?? "";
    text.leave();
    view.start(file.name, () => current.abort());
    $("document-count", root).textContent = wordsOf(store.get()).converting;
    $("document-progress", root).removeAttribute("value");
    const options = { method: "POST", body: formOf(file), signal, headers: { Accept: "application/json" } };
    try {
      const { content, translated, flagged } = await (await request("/v1/documents", options)).json();
      const blob = new Blob([decodeBase64(content)]),
        name = translatedName(file.name, language, extensionOf(file.name));
      view.finish(wordsOf(store.get()).converted(translated), () => saveBlob(blob, name));
      for (const segment of flagged) view.addFlagged(segment);
    } catch (error) {
      view.finish(wordsOf(store.get()).conversionStopped, null);
      if (!signal.aborted) throw error;
    }
  };
  /** @param {File} file */
  const translateFile = async (file) => {
    const extension = extensionOf(file.name);
    await loadOnce(); // a file may be dropped before the formats are known
    if (!extensions().includes(extension))
      throw new RequestError("wrong_format", { values: [extension, extensions().join(", ")] });
    if (extension !== ".txt") return convert(file);
    const content = decodeText(await file.arrayBuffer());
    if (!content.trim()) throw new RequestError("empty_file");
    return text.translate(content, file.name);
  };
  /** @param {File | undefined} file */
  const open = async (file) => {
    if (!file) return;
    controller?.abort();
    store.set({ mode: "document", notice: null });
    try {
      await translateFile(file);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      store.set({ notice: errorNotice(error) });
    }
  };
  listenToFiles(root, open);
  return {
    /** Translate the text of the text area as a document. */
    openText: () => {
      store.set({ mode: "document", notice: null });
      text.translate(store.get().text, `${wordsOf(store.get()).yourText}.txt`);
    },
  };
};
