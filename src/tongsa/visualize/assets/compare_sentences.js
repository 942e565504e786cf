/** Sentences in which two systems differ, word by word against the reference, and n-grams that only one of them has. */
import { compareWords, joinRuns } from "./compare_differences.js";
import { ngramsOf, number, orderedSentences, signedNumber } from "./compare_data.js";
import { breakable, scrollTable } from "./compare_markup.js";
import { metricTitle } from "./compare_scores.js";
import { make } from "./dom.js";

/** @typedef {import("./compare.js").View} View */
/** @typedef {import("./compare_data.js").Sentence} Sentence */
/** @typedef {import("./compare_data.js").Order} Order */

/** @type {Order[]} */
export const ORDERS = ["difference", "better-a", "better-b", "line", "length"];
const FIRST_SHOWN = 10;

/** A text with the words marked that another text does not have. @param {string} text @param {string} other @param {boolean} spaced */
const markedText = (text, other, spaced) => joinRuns(compareWords(text, other, spaced), spaced).flatMap(({ text: run, kind }, i) => {
  const gap = spaced && i ? [" "] : [];
  return [...gap, kind === "same" ? run : make("mark", { class: kind, text: run })];
});

/**
 * Return whether the page of a sentence has all models among these systems.
 * @param {import("./compare_data.js").ComparisonData} data
 * @param {Sentence} sentence
 * @param {number[]} indices
 */
export const isViewed = ({ systems }, { view }, indices) =>
  view !== null && indices.every((i) => systems[i].origin === "outputs" || view.systems.includes(i));

/** Link to the page of the sentence in both systems, or the command that writes it. @param {View} view @param {Sentence} sentence */
const viewsOf = ({ data, words, state }, sentence) => {
  const pair = [state.a, state.b].map((i) => data.systems[i]);
  const models = pair.filter(({ origin }) => origin !== "outputs").map(({ path }) => path);
  if (!models.length) return [];
  if (isViewed(data, sentence, [state.a, state.b])) {
    return [make("p", { class: "small" }, make("a", { href: sentence.view?.file, target: "_blank", rel: "noopener", text: words.lookInsidePage }))];
  }
  const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  const command = `tongsa family ${[...models, sentence.source].map(quote).join(" ")} --reference ${quote(sentence.reference)}`;
  return [make("details", { class: "command" }, make("summary", { text: words.lookInsideCommand }), make("code", { text: command }))];
};

/** @param {View} view @param {{ sentence: Sentence, difference: number }} row */
const sentenceCard = (view, { sentence, difference }) => {
  const { data, words, state } = view, { spaced } = data.test, [a, b] = [state.a, state.b];
  const output = (i) => [
    make("dt", {}, make("span", { dir: "auto" }, ...breakable(data.systems[i].name)),
      make("span", { class: "figure", text: ` ${number(sentence.scores[i], 1)}` })),
    make("dd", { dir: "auto" }, ...(sentence.outputs[i] ? markedText(sentence.outputs[i], sentence.reference, spaced)
      : [make("i", { class: "quiet", text: words.empty })])),
  ];
  return make("li", { class: "sentence" },
    make("p", { class: "small quiet" }, words.line(sentence.line.toLocaleString("en")), " · ",
      make("b", { class: "figure", text: signedNumber(difference, 1) })),
    make("dl", {}, make("dt", { text: words.source }), make("dd", { dir: "auto", text: sentence.source }),
      make("dt", { text: words.reference }), make("dd", { dir: "auto", text: sentence.reference }), ...output(a), ...output(b)),
    ...viewsOf(view, sentence));
};

/** @param {View} view @param {import("./compare_data.js").Ngram[]} ngrams @param {number} owner */
const ngramTable = ({ data, words }, ngrams, owner) => {
  const { name } = data.systems[owner];
  const count = (ngram) => Math.max(ngram.a, ngram.b); // the other one is 0
  const rows = ngrams.map((ngram) => make("tr", {}, make("th", { scope: "row", dir: "auto", text: ngram.text }),
    make("td", { text: String(count(ngram)) }), make("td", { text: String(ngram.references) })));
  const table = rows.length ? scrollTable(words.onlyIn(name), [words.ngram, words.outputs, words.references], rows)
    : make("p", { class: "quiet", text: words.noNgrams });
  return make("article", {}, make("h3", { dir: "auto", text: words.onlyIn(name) }), table);
};

/** N-grams that only one of the two systems writes. @param {View} view */
export const ngramsSection = (view) => {
  const { data, words, state } = view, lists = ngramsOf(data, state.a, state.b);
  if (!lists) return [make("p", { class: "quiet", text: words.noNgrams })];
  return [
    make("p", { class: "quiet help", text: words.ngramsHelp }),
    make("div", { class: "columns" }, ngramTable(view, lists[0], state.a), ngramTable(view, lists[1], state.b)),
  ];
};

/**
 * The section of the sentences: ten at first, more by a button.
 * @param {View} view
 */
export const sentencesSection = (view) => {
  const { data, words, state } = view;
  const rows = orderedSentences(data.sentences, state.a, state.b, state.order);
  const list = make("ol", { class: "sentences" }), more = make("button", { type: "button", class: "plain" });
  let shown = 0;
  const showMore = (count) => {
    const cards = rows.slice(shown, shown + count).map((row) => sentenceCard(view, row));
    list.append(...cards);
    shown += cards.length;
    more.hidden = shown >= rows.length;
    more.textContent = words.showMore(Math.min(FIRST_SHOWN, rows.length - shown), rows.length);
    return cards[0];
  };
  more.addEventListener("click", () => {
    const first = showMore(FIRST_SHOWN);
    first?.setAttribute("tabindex", "-1");
    first?.focus();
  });
  showMore(FIRST_SHOWN);
  const title = metricTitle(words, data.sentences.metric);
  const kinds = /** @type {const} */ (["moved", "extra"]).map((kind) => make("li", {}, make("mark", { class: kind, text: words.wordKinds[kind] })));
  return [
    make("p", { class: "quiet help", text: words.sentencesHelp(title, data.sentences.rows.length.toLocaleString("en"), data.sentences.of.toLocaleString("en")) }),
    make("ul", { class: "signs small" }, ...kinds),
    rows.length ? list : make("p", { class: "quiet", text: words.noSentences }),
    more,
  ];
};
