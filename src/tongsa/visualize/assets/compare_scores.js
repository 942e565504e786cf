/** Scores of all settings under all metrics, as a table and as a chart of one metric; and all pairs of settings. */
import { scoreChart } from "./compare_chart.js";
import { intervalText, number, pairOf, pValue, ranking, signedNumber, unbeaten } from "./compare_data.js";
import { breakable } from "./compare_markup.js";
import { make, onWidthChange, rove } from "./dom.js";

/** @typedef {import("./compare.js").View} View */
/** @typedef {import("./compare_data.js").Metric} Metric */
/** @typedef {import("./compare_data.js").Pair} Pair */

/** Settings up to which all pairs are listed in words, not only those of the chosen cell. */
const MAX_LISTED = 5;

/** @param {View} view @returns {Metric} */
export const chosenMetric = ({ data, state }) => data.metrics.find(({ name }) => name === state.metric) ?? data.metrics[0];

/** Return the title of a metric. @param {any} words @param {string} name */
export const metricTitle = (words, name) => words.metrics[name] ?? name;

/**
 * The verdict about a pair as a sentence.
 * @param {View} view
 * @param {Pair} pair
 */
export const verdictText = ({ data, words }, pair) => {
  const [a, b] = [data.settings[pair.a].name, data.settings[pair.b].name];
  const p = pValue(Math.max(pair.p_bootstrap, pair.p_randomization));
  if (pair.verdict === "better") return words.better(a, b, p);
  if (pair.verdict === "worse") return words.better(b, a, p);
  if (pair.verdict === "none") return words.noEvidence(a, b, p);
  return words.disagree(a, b, pValue(pair.p_bootstrap), pValue(pair.p_randomization));
};

/** What a difference means: its size, its interval, people, seeds. @param {View} view @param {Pair} pair */
const pairDetails = (view, pair) => {
  const { words } = view, metric = chosenMetric(view), title = metricTitle(words, metric.name);
  const interval = intervalText(pair, 2);
  const details = [words.difference(signedNumber(pair.difference), title, interval)];
  if (pair.people !== null) {
    details.push(pair.people <= 50 ? words.coinToss(title) : words.people(title, Math.round(pair.people)));
  }
  if (pair.covers_seeds) details.push(words.overSeeds(...pair.seeds));
  else if (Math.max(...pair.seeds) > 1) details.push(words.singleRun);
  return details;
};

/** The most important findings in words. @param {View} view */
export const summaryOf = (view) => {
  const { data, words } = view, metric = chosenMetric(view), title = metricTitle(words, metric.name);
  const names = (indices) => words.list(indices.map((i) => data.settings[i].name));
  const lines = [words.testSet(data.test.files.join(", "), data.test.sentences.toLocaleString("en"))];
  if (metric.detectable) lines.push(words.power(number(metric.detectable), title, metric.pairs.length));
  const best = unbeaten(metric), [first] = ranking(metric);
  if (metric.pairs.length) {
    lines.push(best.length === 1 ? words.winner(names(best), title) : words.tied(names(best), title, names([first])));
  }
  return make("div", { class: "summary" }, ...lines.map((text) => make("p", { text })));
};

/** All metrics; settings in the order of the chosen metric. @param {View} view */
const scoreTable = (view) => {
  const { data, words } = view, chosen = chosenMetric(view), hasSeeds = data.settings.some(({ systems }) => systems.length > 1);
  const title = ({ name, lower_is_better: isLower }) => `${metricTitle(words, name)} ${isLower ? "↓" : "↑"}`;
  const headers = data.metrics.map((metric) => make("th", {
    scope: "col", class: metric === chosen ? "chosen" : "", text: title(metric), title: metric.signature,
  }));
  const best = new Map(data.metrics.map((metric) => [metric, unbeaten(metric)]));
  const cell = (metric, i) => {
    const score = metric.scores[i], isBest = metric.pairs.length && best.get(metric)?.includes(i);
    return make("td", { class: metric === chosen ? "chosen" : "" },
      make(isBest ? "b" : "span", { class: "value", text: number(score.value) }),
      make("span", { class: "interval", text: intervalText(score) }));
  };
  const rows = ranking(chosen).map((i) => make("tr", {},
    make("th", { scope: "row", dir: "auto" }, ...breakable(data.settings[i].name)),
    ...data.metrics.map((metric) => cell(metric, i)),
    ...(hasSeeds ? [make("td", { text: String(data.settings[i].systems.length) })] : [])));
  const seeds = hasSeeds ? [make("th", { scope: "col", text: words.runs })] : [];
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": words.scores },
    make("table", { class: "score-table" }, make("thead", {},
      make("tr", {}, make("th", { scope: "col", text: words.system }), ...headers, ...seeds)), make("tbody", {}, ...rows)));
};

/**
 * The section of the scores.
 * @param {View} view
 * @param {AbortSignal} signal
 */
export const scoresSection = (view, signal) => {
  const { data, words } = view, metric = chosenMetric(view), picture = make("div", { class: "picture" });
  const rows = ranking(metric).map((i) => ({ name: data.settings[i].name, score: metric.scores[i], series: i }));
  onWidthChange(picture, (width) => picture.replaceChildren(scoreChart(rows, width)), signal);
  const isAlone = rows.length === 1; // the page of an evaluation
  const caption = (isAlone ? words.aloneCaption : words.scoreCaption)(metricTitle(words, metric.name), metric.sentences.toLocaleString("en"));
  const signatures = data.metrics.map(({ name, signature }) =>
    make("p", {}, `${metricTitle(words, name)}: `, make("code", { text: signature })));
  return [
    scoreTable(view),
    make("p", { class: "quiet small", text: isAlone ? words.aloneNote : words.scoreNote }),
    make("figure", {}, make("figcaption", { text: caption }), picture),
    make("details", {}, make("summary", { text: words.signatures }), ...signatures),
  ];
};

/** Verdict → sign in a cell of the matrix. */
const SIGNS = { better: "▲", worse: "▼", disagree: "?", none: "○" };

/** One cell of the matrix: the row against the column. @param {View} view */
const matrixCell = (view, row, column, onSelect) => {
  const pair = pairOf(chosenMetric(view), row, column);
  if (!pair) return make("td", { class: "self", "aria-hidden": "true", text: "" });
  const button = make("button", {
    type: "button", tabindex: -1, class: `cell ${pair.verdict}`, "aria-label": verdictText(view, pair),
    click: () => onSelect(pair),
  }, make("span", { class: "sign", "aria-hidden": "true", text: SIGNS[pair.verdict] }),
  make("span", { text: signedNumber(pair.difference, 1) }));
  return make("td", {}, button);
};

/** @param {View} view @param {Pair} pair */
const pairSentence = (view, pair) => make("li", { class: pair.verdict },
  make("b", { text: verdictText(view, pair) }),
  ...pairDetails(view, pair).map((text) => make("span", { class: "quiet", text: ` ${text}` })));

/**
 * The section of the pairs: a matrix, and the verdicts in words.
 * @param {View} view
 * @param {AbortSignal} signal
 */
export const pairsSection = (view, signal) => {
  const { data, words } = view, metric = chosenMetric(view), order = ranking(metric);
  const detail = make("ul", { class: "verdicts", "aria-live": "polite" });
  const select = (pair) => detail.replaceChildren(pairSentence(view, pair));
  const head = order.map((_, i) => make("th", { scope: "col", text: String(i + 1) }));
  const rows = order.map((row, i) => make("tr", {},
    make("th", { scope: "row", dir: "auto" }, make("span", { class: "rank", text: `${i + 1} ` }), ...breakable(data.settings[row].name)),
    ...order.map((column) => matrixCell(view, row, column, select))));
  const table = make("table", { class: "matrix" }, make("caption", { class: "unseen", text: words.pairs }),
    make("thead", {}, make("tr", {}, make("td"), ...head)), make("tbody", {}, ...rows));
  const buttons = () => /** @type {HTMLElement[]} */ ([...table.querySelectorAll("button")]);
  if (buttons().length) buttons()[0].tabIndex = 0;
  rove(table, buttons, (button) => button.click(), signal);
  const listed = order.flatMap((row, i) => order.slice(i + 1).map((column) => pairOf(metric, row, column)));
  const all = make("ul", { class: "verdicts" }, ...listed.flatMap((pair) => (pair ? [pairSentence(view, pair)] : [])));
  const isShort = order.length <= MAX_LISTED;
  return [
    make("p", { class: "quiet help", text: words.pairsHelp(metric.pairs.length) }),
    make("ul", { class: "signs small" }, ...Object.entries(SIGNS).map(([verdict, sign]) =>
      make("li", {}, make("span", { class: `sign ${verdict}`, text: sign }), ` ${words.signs[verdict]}`))),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": words.pairs }, table),
    ...(isShort ? [all] : [detail, make("details", {}, make("summary", { text: words.allPairs(listed.length) }), all)]),
    ...(metric.pairs.some(({ people }) => people !== null) ? [make("p", { class: "quiet small help", text: words.peopleNote })] : []),
  ];
};
