/** Rows of the family page: for each row, the content of a column's cell at the chosen moment. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { beamCell, heatTable, memoryCell, stateCell, thumbnail, topCell } from "./family_cells.js";
import { difference, spread, storedWeights, timeOf } from "./family_data.js";
import { signed } from "./format.js";

/** @typedef {import("./family_data.js").Column} Column */
/** @typedef {import("./family_data.js").Moment} Moment */
/** @typedef {import("./family_view.js").View} View */
/** @typedef {(Node | string)[]} Content */

const MAX_THUMBNAILS = 12;
/** Names of metrics that are not written as in the journal. @type {Record<string, string>} */
const METRICS = { bleu: "BLEU", chrf: "chrF", ter: "TER", wer: "WER", per: "PER" };

/** @param {string} text @param {string} [name] */
const paragraph = (text, name = "") => make("p", { class: name, text });
/** @param {string} text */
const remark = (text) => paragraph(text, "quiet small");

/** A focusable area that scrolls sideways. @param {string} name @param {Node} content */
const scrolling = (name, content) =>
  make("div", { class: "scroller", tabindex: 0, role: "group", "aria-label": name }, content);

/**
 * The content for the chosen moment, or for both pinned moments.
 * @param {View} view
 * @param {Column} column
 * @param {(moment: Moment) => Content} cell
 */
const beforeAndAfter = (view, column, cell) => {
  if (!view.isComparing) return cell(view.moment(column));
  const names = [view.labels.before, view.labels.after];
  return view.state.pins.flatMap((time, i) => [remark(names[i]), ...cell(view.moment(column, time))]);
};

/** @param {View} view @param {Moment} moment */
const momentText = ({ labels, count }, { step, seconds, tokens }) => {
  if (step === null) return labels.savedModel;
  return [labels.step(step), labels.duration(seconds ?? 0), labels.seenTokens(count(tokens ?? 0))].join(" · ");
};

/** @param {View} view @param {Column} column @returns {Content} */
const momentCell = (view, column) => {
  const { moments, probed } = column, { labels } = view;
  const note = moments.length > 1 ? "" : probed.length ? labels.notProbed(probed) : labels.noProbes;
  const texts = beforeAndAfter(view, column, (moment) => [paragraph(momentText(view, moment), "small")]);
  return [...texts, paragraph(note, "note small")];
};

/** @param {View} view @param {Moment} moment @returns {Content} */
const outputText = ({ data, labels }, moment) => {
  const { target, num_tokens: total, output } = moment;
  const words = target.words.filter((word) => word !== "</s>");
  const span = (word, row) => make("span", { class: "word", "data-word": word, "data-row": row, text: displayToken(word) });
  const spans = words.length ? words.flatMap((word, i) => [span(word, i), " "]) : [labels.empty];
  const mark = { class: "equal", role: "img", "aria-label": labels.equal, title: labels.equal, text: "✓" };
  const isEqual = Boolean(data.reference) && output === data.reference;
  const line = make("p", { class: "output", dir: "auto" }, ...spans, ...(isEqual ? [make("b", mark)] : []));
  const shown = target.tokens.length;
  return [line, remark(total > shown ? labels.firstTokens(shown, total) : ""), ...sampleLine(labels, moment)];
};

/** What a language model sampled. @param {View["labels"]} labels @param {Moment} moment @returns {Content} */
const sampleLine = (labels, { sample }) => {
  if (!sample) return [];
  const [prompt, continuation] = sample;
  return [remark(labels.sample), make("p", { class: "sample", dir: "auto" },
    make("span", { class: "quiet", text: prompt }), make("span", { text: continuation || ` ${labels.nothingMore}` }))];
};

/** @param {View} view @param {Column} column @returns {Content} */
const readsCell = (view, column) => {
  if (view.isComparing) return comparison(view, column);
  const { labels, state } = view, moment = view.moment(column), grid = view.grid(column, moment);
  if (!grid) return stateCell(moment, labels);
  const isChosen = state.layer !== null || state.head !== null;
  const isMissing = isChosen && storedWeights(moment, state.layer, state.head) === undefined;
  const table = heatTable(grid, `${labels.rows.reads}: ${column.name}`);
  const note = isMissing ? (state.head === null ? labels.layerMissing : labels.headMissing) : "";
  return [scrolling(labels.rows.reads, table), paragraph("", "reading small"), remark(note)];
};

/**
 * Attention at both pinned moments, and the difference.
 * @param {View} view
 * @param {Column} column
 * @returns {Content}
 */
const comparison = (view, column) => {
  const { labels } = view, moments = view.state.pins.map((time) => view.moment(column, time));
  const [before, after] = moments.map((moment) => view.grid(column, moment));
  if (!before || !after) return beforeAndAfter(view, column, (moment) => stateCell(moment, labels));
  const tables = [heatTable(before, labels.before), heatTable(after, labels.after),
    heatTable(difference(before, after), labels.difference, "diverging")];
  const names = [labels.before, labels.after, labels.difference];
  return [make("div", { class: "comparison" }, ...tables.map((table, i) =>
    make("figure", {}, make("figcaption", { class: "quiet small", text: names[i] }), scrolling(names[i], table))))];
};

/** @param {View} view @param {Column} column @returns {Content} */
const costCell = ({ labels, count, data }, { parameters, milliseconds, family }) => [
  paragraph(labels.parameters(count(parameters))), paragraph(labels.milliseconds(milliseconds)),
  remark(!family.source_path ? "" : data.task === "language_model" ? labels.tokenPath(family.source_path)
    : labels.paths(family.source_path, family.output_path)),
];

/** @param {View} view @param {Column} column @returns {Content} */
const trainingCell = ({ labels, count }, { seed, steps, seconds, tokens, score }) => {
  if (!steps) return [remark(labels.noRun)];
  const length = [labels.stepCount(steps), labels.duration(seconds), labels.seenTokens(count(tokens))].join(" · ");
  const value = score && (score.value === null ? "–" : score.value.toFixed(Math.abs(score.value) < 10 ? 2 : 1));
  const metric = score && (labels.metrics[score.name] ?? METRICS[score.name] ?? score.name.replaceAll("_", " "));
  return [
    paragraph(score ? labels.score(metric, value, labels.step(score.step)) : ""),
    remark(seed === null ? length : `${labels.seed(seed)} · ${length}`),
  ];
};

/** @param {View} view @param {Column} column @param {(time: number) => void} choose @returns {Content} */
const historyCell = (view, column, choose) => {
  const buttons = spread(column.moments, MAX_THUMBNAILS).map((moment) => {
    const { step } = moment, name = step === null ? view.labels.savedModel : view.labels.step(step);
    const click = () => choose(timeOf(moment, view.state.timeUnit)), isShown = moment === view.moment(column);
    return make("button", { type: "button", class: isShown ? "here" : "", title: name, "aria-label": name, click },
      thumbnail(column, moment), make("span", { text: step === null ? "★" : step.toLocaleString("en") }));
  });
  return [make("div", { class: "thumbnails" }, ...buttons)];
};

/**
 * Row → the content of a column's cell.
 * @type {Record<string, (view: View, column: Column, choose: (time: number) => void) => Content>}
 */
export const CELLS = {
  moment: momentCell,
  output: (view, column) => beforeAndAfter(view, column, (moment) => outputText(view, moment)),
  logProb: (view, column) =>
    beforeAndAfter(view, column, (moment) => [paragraph(signed(moment.log_prob, 2), "figure")]),
  memory: (view, column) => beforeAndAfter(view, column, (moment) => memoryCell(column, moment, view.labels)),
  reads: readsCell,
  top: (view, column) =>
    beforeAndAfter(view, column, (moment) => topCell(column, moment, view.state.step, view.labels)),
  beam: (view, column) => beamCell(column, view.state.step, view.labels),
  cost: costCell,
  training: trainingCell,
  history: historyCell,
};

/**
 * The head of a column: a link to the trace of its model, or the command that writes one.
 * @param {View} view
 * @param {Column} column
 */
export const columnHeader = ({ labels }, { name, family, kind, command, trace }) => {
  const hint = paragraph(labels.traceHint, "small");
  const code = make("div", { class: "command", hidden: "" }, hint, make("code", { text: command }));
  const toggle = () => {
    code.hidden = !code.hidden;
    title.setAttribute("aria-expanded", String(!code.hidden));
  };
  const button = { type: "button", "aria-expanded": "false", title: labels.trace, text: name, click: toggle };
  const title = trace ? make("a", { href: trace, title: labels.trace, text: name }) : make("button", button);
  return make("th", { scope: "col", class: `of-${family.key}` }, title, paragraph(family.title || kind, "small"), code);
};
