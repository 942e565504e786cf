/** Ablation of the filters: the score of a training without each of them, against the one with all. */
import { scoreChart } from "./compare_chart.js";
import { intervalText, number, pValue, signedNumber } from "./compare_data.js";
import { row, scrollTable } from "./compare_markup.js";
import { count } from "./corpus_data.js";
import { filterName } from "./corpus_filters.js";
import { make, onWidthChange } from "./dom.js";

/** @typedef {import("./corpus.js").View} View */
/** @typedef {import("./corpus_data.js").AblationRow} AblationRow */

/** @param {any} words @param {AblationRow} item */
const rowName = (words, { kind, filter }) =>
  (kind === "all" ? words.allFilters : kind === "none" ? words.withoutFilters : words.without(filterName(words, filter)));

/** @param {any} words @param {AblationRow} item */
const verdictText = (words, { verdict, p }) =>
  (verdict && p !== null ? `${words.verdicts[verdict] ?? verdict} (${pValue(p)})` : "–");

/** The section of the ablation. @param {View} view @param {AbortSignal} signal */
export const ablationSection = ({ data, words }, signal) => {
  const { ablation } = data;
  if (!ablation) return [];
  const rows = ablation.rows.map((item) => row(rowName(words, item), [
    count(item.pairs),
    make("span", {}, make("span", { class: "value", text: number(item.score.value) }), make("span", { class: "interval", text: intervalText(item.score) })),
    item.difference === null ? "–" : make("span", {}, make("span", { class: "value", text: signedNumber(item.difference) }),
      make("span", { class: "interval", text: intervalText({ low: item.low, high: item.high }) })),
    verdictText(words, item)]));
  const picture = make("div", { class: "picture" });
  const scores = ablation.rows.map((item, i) => ({ name: rowName(words, item), score: item.score, series: i ? 1 : 0 }));
  onWidthChange(picture, (width) => picture.replaceChildren(scoreChart(scores, width)), signal);
  const metric = words.metrics[ablation.metric] ?? ablation.metric, sentences = count(ablation.sentences);
  return [
    make("p", { class: "quiet help", text: words.ablationHelp(metric, ablation.split, sentences, ablation.budget, ablation.seeds) }),
    scrollTable(words.ablation, [words.training, words.pairs, metric, words.difference, words.verdict], rows, "ablation-table"),
    make("figure", {}, make("figcaption", { text: words.ablationCaption(metric, sentences) }), picture),
  ];
};
