/** Live translation: a request after a pause in typing, one at a time; a new text cancels the previous request. */
import { drawMirror } from "./alignment.js";
import { MAX_RETRIES, postJSON, postStream, RequestError } from "./api.js";
import { codePointOffsets, countCharacters } from "./characters.js";
import { formatPercent, labels, onLanguageChange } from "./labels.js";
import { hideNotice, showNotice } from "./notice.js";
import { showHint, showLabels, showScore, showTranslation } from "./result.js";
import { joinSentences, locateSentence, replaceTranslation } from "./sentences.js";

const element = (id) => document.getElementById(id);
/** Milliseconds without typing before the text is sent. */
const TYPING_PAUSE = 250;
/** Milliseconds before a screen reader announces the result, so that it does not interrupt typing. */
const ANNOUNCE_DELAY = 600;
/** Translations of each sentence. */
const NBEST = 4;
/** Task → label of the hint in an empty result. */
const HINTS = { seq2seq: "empty", classification: "emptyLabel", language_model: "emptyScore" };

/**
 * @param models model() and limits() in use
 * @param glossaryTerms returns the terms of the glossary
 * @param onDraw called with the sentences when they have changed
 */
export const setupTranslator = (models, glossaryTerms, onDraw) => {
  const source = element("source");
  let typingTimer = 0, controller = null, announceTimer = 0, failures = 0;
  let sentences = [], translatedText = "", activeSentence = 0;
  const chosen = new Map(); // source sentence → translation chosen by the user, with its details if known

  const request = () => ({ model: models.model().name, ...(glossaryTerms().length ? { glossary: glossaryTerms() } : {}) });

  const showCount = () => {
    const limit = models.limits().characters, count = countCharacters(source.value);
    element("count").textContent = labels().characters(count, limit);
    element("count").classList.toggle("over-limit", Boolean(limit) && count > limit);
    element("clear").hidden = !source.value;
  };
  const announce = (text) => {
    clearTimeout(announceTimer);
    announceTimer = setTimeout(() => { element("live").textContent = text; }, ANNOUNCE_DELAY);
  };
  const enableButtons = () => {
    for (const id of ["copy", "open-attention", "open-tree"]) element(id).disabled = !sentences.length;
  };
  const draw = () => {
    drawMirror(source.value, source.value === translatedText ? sentences : []);
    showTranslation(translatedText, sentences);
    enableButtons();
    onDraw(sentences);
  };
  const setBusy = (isBusy) => element("result").setAttribute("aria-busy", isBusy);
  const clear = () => {
    sentences = [];
    translatedText = "";
    showHint(HINTS[models.model()?.task ?? "seq2seq"]);
    drawMirror(source.value, []);
    enableButtons();
    onDraw(sentences);
  };

  /** Return the sentence with the translation that the user chose; it stays while the rest of the text changes. */
  const applyChoice = (sentence) => {
    const choice = chosen.get(sentence.source), original = sentence.original ?? sentence.text;
    return choice ? { ...replaceTranslation(sentence, choice), original } : sentence;
  };
  const choose = async (number, text) => {
    const { source: sentenceSource } = sentences[number];
    const apply = (details) => {
      chosen.set(sentenceSource, { text, ...details });
      sentences = sentences.map((sentence) => (sentence.source === sentenceSource ? applyChoice(sentence) : sentence));
      draw();
    };
    apply({});
    announce(text);
    try {
      const body = { ...request(), text: sentenceSource, prefix: text, nbest: 1, alignments: true, word_probabilities: true };
      const [response, ...more] = (await postJSON("/v1/translate", body)).translations[0].sentences;
      // the model may continue after the given text: then its details are not those of the choice
      if (more.length || response.text !== text || chosen.get(sentenceSource)?.text !== text) return;
      apply({ alignment: response.alignment, words: response.words, confidence: response.confidence, flags: response.flags });
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    }
  };

  /** Without a translation, the attention view shows the whole text. */
  const enableAttention = () => {
    sentences = [];
    element("open-attention").disabled = false;
  };
  const classify = async (text, signal) => {
    const { labels: [prediction] } = await postJSON("/v1/classify", { model: models.model().name, text }, signal);
    showLabels(prediction);
    announce(`${prediction.label} ${formatPercent(prediction.probability)}`);
    enableAttention();
  };
  const score = async (text, signal) => {
    showScore(await postJSON("/v1/score", { model: models.model().name, source: "", target: text }, signal));
    announce(element("result").lastChild.textContent);
    enableAttention();
  };
  const translate = async (text, signal) => {
    const offsets = codePointOffsets(text), body = { ...request(), text, alignments: true, word_probabilities: true };
    body.nbest = Math.max(1, Math.min(NBEST, models.limits().nbest ?? NBEST));
    const newSentences = [];
    for await (const line of postStream("/v1/translate", body, signal)) {
      if (!line.sentence) continue;
      newSentences.push(applyChoice(locateSentence(text, offsets, line.sentence)));
      [sentences, translatedText] = [newSentences, text];
      draw();
    }
    [sentences, translatedText] = [newSentences, text];
    draw();
    announce(joinSentences(text, newSentences));
  };
  const TASKS = { seq2seq: translate, classification: classify, language_model: score };

  const translateNow = async () => {
    clearTimeout(typingTimer);
    if (controller) controller.abort();
    const text = source.value, model = models.model();
    if (!model) return;
    if (!text.trim()) {
      controller = null;
      setBusy(false);
      hideNotice();
      clear();
      return;
    }
    const current = controller = new AbortController();
    setBusy(true);
    try {
      await TASKS[model.task](text, current.signal);
      failures = 0;
      if (current === controller) hideNotice();
    } catch (error) {
      if (current.signal.aborted) return;
      if (!(error instanceof RequestError)) throw error;
      const needsKey = ["no_key", "wrong_key"].includes(error.code);
      failures = error.isFailure ? failures + 1 : 0;
      const seconds = failures > MAX_RETRIES ? null : error.retryAfter; // after that only the button retries
      showNotice(error.message, { seconds, retry: needsKey || error.retryAfter !== null ? translateNow : null, needsKey });
    } finally {
      if (current === controller) setBusy(false);
    }
  };

  source.addEventListener("input", () => {
    failures = 0;
    showCount();
    drawMirror(source.value, []);
    clearTimeout(typingTimer);
    typingTimer = setTimeout(translateNow, TYPING_PAUSE);
  });
  element("clear").addEventListener("click", () => {
    source.value = "";
    showCount();
    translateNow();
    source.focus();
  });
  onLanguageChange(showCount);
  drawMirror("", []);
  setBusy(false);

  return {
    translateNow, request, choose,
    sentences: () => sentences,
    active: () => activeSentence,
    activate: (number) => { activeSentence = number; onDraw(sentences); },
    text: () => joinSentences(translatedText, sentences),
    source: () => source.value,
    setSource: (text) => { source.value = text; showCount(); drawMirror(text, []); translateNow(); },
    restart: () => { chosen.clear(); showCount(); clear(); translateNow(); },
  };
};
