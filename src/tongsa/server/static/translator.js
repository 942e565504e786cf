/** Live translation: a little after the last key, one request at a time, and what is stale is given up. */
import { reflect } from "./alignment.js";
import { count, places } from "./characters.js";
import { calm, warn } from "./notice.js";
import { show, showLabels, showLikelihood, showNothing } from "./result.js";
import { joined, placed, said } from "./sentences.js";
import { asked, Refusal, streamed, TRIES } from "./server.js";
import { onLanguage, percent, say } from "./words.js";

const element = (id) => document.getElementById(id);
const PAUSE = 250;
/** Milliseconds without a key before the text is sent. */
const OTHERS = 4;
/** How many translations of a sentence are asked for. */
const EMPTY = { labels: "emptyLabel", text: "emptyLikelihood" };

/**
 * @param models model() and limits() in force
 * @param terms the glossary's terms now
 * @param drawn called with the sentences whenever they are others
 */
export const translator = (models, terms, drawn) => {
  const source = element("source");
  let waiting = 0, working = null, telling = 0, failures = 0;
  let sentences = [], translated = "", active = 0;
  const chosen = new Map(); // sentence of the source → what is known of the translation that the reader has chosen

  const request = () => ({ model: models.model().name, ...(terms().length ? { terms: terms() } : {}) });

  const counted = () => {
    const most = models.limits().characters, characters = count(source.value);
    element("count").textContent = say().characters(characters, most);
    element("count").classList.toggle("over", Boolean(most) && characters > most);
    element("clear").hidden = !source.value;
  };
  const announce = (text) => {
    clearTimeout(telling);
    telling = setTimeout(() => { element("live").textContent = text; }, 600); // who types is not interrupted
  };
  const usable = () => {
    const some = sentences.length > 0;
    for (const id of ["copy", "open-attention", "open-tree"]) element(id).disabled = !some;
  };
  const draw = () => {
    reflect(source.value, source.value === translated ? sentences : []);
    show(translated, sentences);
    usable();
    drawn(sentences);
  };
  const busy = (is) => element("result").setAttribute("aria-busy", is);
  const forget = () => {
    sentences = [];
    translated = "";
    showNothing(EMPTY[models.model()?.task] ?? "empty");
    reflect(source.value, []);
    usable();
    drawn(sentences);
  };

  /** A sentence as the reader wants it: what was chosen stays while the rest of the text is written. */
  const kept = (sentence) => {
    const wanted = chosen.get(sentence.source), first = sentence.first ?? sentence.text;
    return wanted ? { ...said(sentence, wanted), first } : sentence;
  };
  const choose = async (number, text) => {
    const { source: asking } = sentences[number];
    const put = (details) => {
      chosen.set(asking, { text, ...details });
      sentences = sentences.map((one) => (one.source === asking ? kept(one) : one));
      draw();
    };
    put({});
    announce(text);
    try {
      const body = { ...request(), text: asking, prefix: text, nbest: 1, alignments: true, probabilities: true };
      const [told, ...more] = (await asked("/v1/translate", body)).translations[0].sentences;
      // the model may go on behind the beginning it was given: then nothing is known of this text
      if (more.length || told.text !== text || chosen.get(asking)?.text !== text) return;
      put({ alignment: told.alignment, words: told.words, confidence: told.confidence, flags: told.flags });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  };

  const classify = async (text, signal) => {
    const found = await asked("/v1/classify", { model: models.model().name, text }, signal);
    showLabels(found.labels[0]);
    const { label, probability } = found.labels[0];
    announce(`${label} ${percent(probability)}`);
    lookable();
  };
  const score = async (text, signal) => {
    showLikelihood(await asked("/v1/score", { model: models.model().name, source: "", target: text }, signal));
    announce(element("result").lastChild.textContent);
    lookable();
  };
  /** Attention can be looked at as for a sentence. */
  const lookable = () => {
    sentences = [];
    element("open-attention").disabled = false;
  };
  const translate = async (text, signal) => {
    const table = places(text), body = { ...request(), text, alignments: true, probabilities: true };
    body.nbest = Math.max(1, Math.min(OTHERS, models.limits().nbest ?? OTHERS));
    const found = [];
    for await (const line of streamed("/v1/translate", body, signal)) {
      if (!line.sentence) continue;
      found.push(kept(placed(text, table, line.sentence)));
      [sentences, translated] = [found, text];
      draw();
    }
    [sentences, translated] = [found, text];
    draw();
    announce(joined(text, found));
  };

  const now = async () => {
    clearTimeout(waiting);
    if (working) working.abort();
    const text = source.value, model = models.model();
    if (!model) return;
    if (!text.trim()) {
      working = null;
      busy(false);
      calm();
      forget();
      return;
    }
    const own = working = new AbortController();
    busy(true);
    try {
      await { pairs: translate, labels: classify, text: score }[model.task](text, own.signal);
      failures = 0;
      if (own === working) calm();
    } catch (error) {
      if (own.signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      const key = ["no_key", "wrong_key"].includes(error.code);
      failures = error.failed ? failures + 1 : 0;
      const seconds = failures > TRIES ? null : error.after; // then only when the reader says so
      warn(error.message, { seconds, retry: key || error.after !== null ? now : null, key });
    } finally {
      if (own === working) busy(false);
    }
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(now, PAUSE);
  };

  source.addEventListener("input", () => {
    failures = 0;
    counted();
    reflect(source.value, []);
    soon();
  });
  element("clear").addEventListener("click", () => {
    source.value = "";
    counted();
    now();
    source.focus();
  });
  onLanguage(counted);
  reflect("", []);
  busy(false);

  return {
    now, soon, request, choose,
    sentences: () => sentences,
    active: () => active,
    activate: (number) => { active = number; drawn(sentences); },
    text: () => joined(translated, sentences),
    source: () => source.value,
    write: (text) => { source.value = text; counted(); reflect(text, []); now(); },
    restart: () => { chosen.clear(); counted(); forget(); now(); },
  };
};
