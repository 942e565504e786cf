/** Texts of the page in English. */

/** @param {number} count */
const number = (count) => count.toLocaleString("en");
/** @param {number} count @param {string} noun in the singular */
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
/** @param {number} count */
const sentences = (count) => counted(count, "sentence");

export const EN = {
  otherLanguage: "한국어",
  otherLanguageLabel: "한국어로 보기",
  skip: "Skip to text",
  keys: "Shortcuts",
  model: "Model",
  mode: "What to translate",
  text: "Text",
  document: "Document",
  retry: "Try again",
  clear: "Clear",
  undo: "Undo",
  swap: "Swap languages",
  copy: "Copy",
  copied: "Copied",
  typeHere: "Type or paste text",
  shading: "Highlight uncertain words",
  look: "Look inside",
  attention: "Attention",
  tree: "Search tree",
  trace: "Trace",
  positions: "Positions",
  curves: "Training",
  source: "Source",
  target: "Translation",
  input: "Text",
  label: "Label",
  probability: "Log-probability",
  empty: "The translation appears here as you type.",
  emptyLabel: "The label appears here as you type.",
  working: "Working …",
  emptyScore: "The log-probability of the text appears here as you type.",
  /** @param {string} logProb @param {string} perplexity */
  score: (logProb, perplexity) => `log-probability ${logProb} · perplexity ${perplexity} per token`,
  examples: "Examples",
  stale: "This translation belongs to an earlier text.",
  yourText: "Your text",
  /** By what the training data consist of. */
  trainedOn: {
    /** @param {number} count */
    pairs: (count) => `Trained on ${counted(count, "pair")}`,
    /** @param {number} count */
    labeled_texts: (count) => `Trained on ${counted(count, "labeled text")}`,
    /** @param {number} count */
    texts: (count) => `Trained on ${counted(count, "text")}`,
  },
  /** Metric → its name. @type {Record<string, string>} */
  metrics: {
    bleu: "BLEU",
    chrf: "chrF",
    exact_match: "exact match",
    accuracy: "accuracy",
    macro_f1: "macro F1",
    perplexity: "perplexity",
  },
  /** @param {string} name @param {string} value */
  scoreOf: (name, value) => `${name} ${value} on its dev set`,
  style: "Style",
  styleDefault: "Default",
  styles: { polite: "Polite", casual: "Casual", formal: "Formal", plain: "Plain" },
  /** @param {string} language */
  looksLike: (language) => `This looks like ${language}.`,
  /** @param {string} model */
  useModel: (model) => `Use ${model}`,
  alternatives: "Other translations",
  original: "Original translation",
  /** @param {number} sentence @param {number} count */
  whichSentence: (sentence, count) => `Sentence ${sentence} of ${count}`,
  continuations: "Other continuations",
  noAlternatives: "No other continuations.",
  endsHere: "(ends here)",
  searching: "Searching …",
  /** @param {string} share */
  confidence: (share) => `Confidence ${share}.`,
  /** @param {string} share */
  wordProbability: (share) => `Probability ${share}`,
  addedStop: "Added: the model wrote no punctuation here",
  chosenByYou: "Chosen by you",
  /** @param {number} count @param {number} total */
  needReview: (count, total) => `${number(count)} of ${sentences(total)} ${count === 1 ? "needs" : "need"} review`,
  flags: {
    loop: "The model repeats itself here.",
    length: "Unusually short or long compared with the source.",
    copy: "Much of the translation is copied from the source.",
    coverage: "A part of the source may be missing.",
    truncated: "The sentence is too long for the model; only its beginning was translated.",
    retried: "A first translation failed a check and was replaced.",
    low_score: "The model is unsure of this translation.",
    longer_than_training: "Much longer than the sentences the model was trained on.",
  },
  /** @param {string[]} words */
  unseenWords: (words) => `Not in the training data: ${words.join(", ")}.`,
  edit: "Edit",
  editDone: "Save correction",
  editCancel: "Cancel",
  editLabel: "Corrected translation",
  documentTitle: "Translate a file",
  chooseFile: "Choose a file",
  /** @param {string[]} extensions */
  documentHelp: (extensions) =>
    `Drop a file here or choose one: ${extensions.join(", ")}. The format and the line breaks are kept. ` +
    "The file is sent to this server only.",
  columns: "Columns to translate (CSV, TSV)",
  columnsHint: "e.g. 2 or text,title",
  /** @param {number} count @param {string} share */
  progress: (count, share) => `${sentences(count)} · ${share}`,
  /** @param {number} count */
  finished: (count) => `${sentences(count)} · done`,
  /** @param {number} count */
  stopped: (count) => `${sentences(count)} · stopped`,
  converting: "Translating the file …",
  /** @param {number} count */
  converted: (count) => `${number(count)} ${count === 1 ? "segment" : "segments"} · done`,
  conversionStopped: "Stopped",
  stop: "Stop",
  saveText: "Save translation",
  saveTable: "Save both as a table",
  glossary: "Glossary",
  addTerm: "Add a term",
  glossaryHelp: "Where the source has the term on the left, the translation uses the one on the right.",
  termSource: "Source term",
  termTarget: "Target term",
  removeTerm: "Remove this term",
  termSatisfied: "applied",
  termUnsatisfied: "not applied",
  termElsewhere: "applied; check its position",
  importTerms: "Import TSV",
  exportTerms: "Export TSV",
  /** @param {number} count */
  termCount: (count) => (count ? `${count}` : ""),
  share: "Link",
  shareCopied: "Link copied",
  history: "History",
  historyOn: "Keep the last 20 texts in this browser",
  historyEmpty: "No texts yet.",
  historyClear: "Delete history",
  request: "Request",
  requestHelp: "The API request for this translation.",
  curl: "curl",
  python: "Python",
  continue: "Continue",
  continueHelp: "Let the model continue the text.",
  temperature: "Temperature",
  topP: "Top-p",
  nextTokens: "Next token",
  close: "Close",
  attentionTitle: "Attention",
  traceTitle: "Trace: every tensor of this sentence",
  treeTitle: "Beam search, step by step",
  positionsTitle: "Position encoding",
  curvesTitle: "Training",
  loading: "Loading …",
  shortcuts: "Keyboard shortcuts",
  shortcutList: {
    translate: "Translate now",
    source: "Go to the text",
    result: "Go to the translation",
    swap: "Swap languages",
    copy: "Copy the translation",
    mode: "Text or document",
    glossary: "Glossary",
    attention: "Attention",
    tree: "Search tree",
    positions: "Positions",
    curves: "Training",
    arrows: "In the translation: from word to word",
    enter: "On a word: other continuations",
    help: "This list (outside a text field)",
    escape: "Close what is open",
  },
  theme: { system: "Auto", light: "Light", dark: "Dark" },
  /** @param {string} theme */
  themeLabel: (theme) => `Theme: ${theme}`,
  key: "API key",
  useKey: "Use",
  asDocument: "Translate as a document",
  /** @param {number} seconds */
  retryIn: (seconds) => `Trying again in ${seconds} s.`,
  /** @param {number} count @param {number} [limit] */
  characters: (count, limit) => (limit ? `${number(count)} / ${number(limit)}` : number(count)),
  errors: {
    loading: () => "The model is being loaded. You can start typing; the translation will appear when it is ready.",
    unreachable: () => "The server isn't responding. Check that it is running.",
    busy: () => "The server is busy.",
    too_many: () => "Too many requests at once.",
    timeout: () => "The server took too long. Try a shorter text.",
    failed: () => "The server could not translate this.",
    slow: () => "The connection is too slow: the text did not arrive in time.",
    internal: () => "The server failed.",
    no_key: () => "This server needs an API key. Enter yours.",
    wrong_key: () => "The server does not know this API key. Enter another one.",
    wrong_origin: () => "The server does not accept requests from this address. Ask its owner to add it to `origins`.",
    wrong_host: () => "The server does not answer under this host name. Open it by the address that it printed.",
    unknown_model: () => "The server no longer has this model. Reload the page.",
    not_found: () => "The server does not have this function.",
    bad_method: () => "The server does not have this function.",
    bad_request: () => "The server cannot read this request.",
    too_long: () => "The text is too long. Shorten it, or translate it as a document.",
    /** @param {any} count @param {any} limit */
    over_limit: (count, limit) =>
      `${number(count)} characters; at most ${number(limit)} here. Shorten the text, or translate it as a document.`,
    /** @param {any} sentence @param {any} count @param {any} limit */
    too_long_to_view: (sentence, count, limit) =>
      `Sentence ${sentence} has ${number(count)} characters; this view shows at most ${number(limit)}.`,
    /** @param {any} source @param {any} target */
    no_swap: (source, target) => `This server has no model for ${source} → ${target}.`,
    not_text: () => "This file is not text in UTF-8 or EUC-KR. Save it as plain text and choose it again.",
    empty_file: () => "This file has no text. Choose another one.",
    /** @param {any} extension @param {any} accepted */
    wrong_format: (extension, accepted) => `${extension || "This file"} is not supported. Choose ${accepted}.`,
    no_terms: () => "This file has no terms. Write one per line: source, tab, target.",
    corrected: () => "Correction saved on this server.",
    /** @param {any} status */
    other: (status) => `The server returned an error (status ${status}).`,
  },
};
