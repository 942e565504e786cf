/** Section of the heads: a table of sentences × heads for each model, with a summary of each head at the top. */
import { colorOf, textColorOn } from "./colors.js";
import { ARROWS, hasNoModifier, make, makeSvg } from "./dom.js";
import { signed } from "./format.js";
import { cellValue, largest, number, patternName, profile } from "./inspect_data.js";
import { columnHeader, rowHeader, runName } from "./inspect_markup.js";

/** @typedef {import("./inspect.js").View} View */

const [BAR_WIDTH, CHART_HEIGHT] = [6, 34];
/** Names that say that there is no common pattern. */
const UNCOUNTED = ["varies", "too_short", "fixed"];

/** Return the label of a column. @param {any} role @param {number} head @param {any} words */
const columnLabel = (role, head, words) =>
  (role.role === "hops" ? words.hop(head + 1) : words.head((head % role.heads) + 1));

/** Return a full name of a head: layer and number. @param {any} role @param {number} head @param {any} words */
export const headName = (role, head, words) =>
  `${role.layers > 1 ? `${words.layer(Math.floor(head / role.heads) + 1)} · ` : ""}${columnLabel(role, head, words)}`;

/**
 * Draw weights by offset as bars; the bar of offset 0 is marked.
 * @param {(number | null)[]} values
 * @param {any} role
 * @param {any} words
 * @param {number} [scale] size of the chart
 */
export const offsetChart = (values, role, words, scale = 1) => {
  const max = largest(values), height = CHART_HEIGHT * scale, bar = BAR_WIDTH * scale, base = scale > 1 ? 16 : 0;
  const finite = (value) => value !== null && !Number.isNaN(value);
  const text = values.flatMap((value, i) => (finite(value) ? [`${signed(role.offsets[i], 0)}: ${number(value)}`] : []));
  const svg = makeSvg("svg", {
    class: "offsets", role: "img", "aria-label": words.chart(text.join(", ")),
    width: bar * values.length, height: height + base, viewBox: `0 0 ${bar * values.length} ${height + base}`,
  });
  values.forEach((value, i) => {
    const x = i * bar, length = finite(value) ? (Number(value) / max) * (height - 2) : 0;
    const box = { x: x + 0.5, y: height - length, width: bar - 1, height: Math.max(length, 0.5) };
    svg.append(makeSvg("rect", { class: role.offsets[i] === 0 ? "zero" : "bar", ...box }));
    if (scale === 1) return;
    const place = { x: x + bar / 2, y: height + 12, "text-anchor": "middle" };
    svg.append(makeSvg("text", { ...place, text: signed(role.offsets[i], 0) }));
  });
  return svg;
};

/** Class of a head's cells: the first head of a layer has a line on its left. @param {any} role @param {number} head */
const startClass = (role, head) => (head % role.heads ? "" : "start");

const headerRows = (role, words) => {
  const layers = Array.from({ length: role.layers }, (_, layer) =>
    make("th", { scope: "colgroup", colspan: role.heads, class: "start", text: words.layer(layer + 1) }));
  const heads = Array.from({ length: role.layers * role.heads }, (_, head) =>
    columnHeader(columnLabel(role, head, words), { class: startClass(role, head) }));
  const empty = [make("td", { class: "sentence" }), make("td")];
  return [
    ...(role.layers > 1 ? [make("tr", {}, ...empty, ...layers)] : []),
    make("tr", {}, columnHeader(words.sentence, { class: "sentence" }), columnHeader(words.logProb), ...heads),
  ];
};

/** The most frequent pattern of a head, and in how many sentences it holds. */
const findingNodes = ({ pattern, count, sentences, untested }, words) => [
  make("b", { text: words.patterns[pattern] ?? pattern }),
  ...(UNCOUNTED.includes(pattern) ? [] : [make("span", { text: words.holds(count, sentences) })]),
  ...(untested ? [make("span", { class: "quiet", text: words.untested(untested) })] : []),
];

/** Rows over all sentences: pattern, entropy and weights by offset. @param {View} view @param {any} role */
const summaryRows = ({ words, state: { mode } }, role) => {
  const findings = role.findings[mode === "spread" ? "off" : mode];
  const row = (label, values, nodes) => make("tr", { class: "summary" },
    rowHeader(label, { class: "sentence" }), make("td"),
    ...values.map((value, head) => make("td", { class: startClass(role, head) }, ...nodes(value))));
  return [
    ...(role.role === "hops" ? [] : [row(words.pattern, findings, (finding) => findingNodes(finding, words))]),
    row(words.entropy, role.mean_entropy[mode], (value) => [number(value)]),
    row(words.byOffset, role.mean_weights[mode], (values) => [offsetChart(values, role, words)]),
  ];
};

/** Return the largest number of a measure, for the colors. */
const measureMax = (role, mode, measure, sentences) => {
  const heads = role.layers * role.heads, values = [];
  for (let sentence = 0; sentence < sentences; sentence++) {
    for (let head = 0; head < heads; head++) values.push(cellValue(role, mode, measure, sentence, head));
  }
  return largest(values.filter((value) => !Number.isNaN(value)));
};

const paintCell = (cell, value, max) => {
  if (Number.isNaN(value)) return;
  const rgb = colorOf(value, max);
  cell.setAttribute("style", `background: rgb(${rgb}); color: ${textColorOn(rgb)}`);
};

/** The cell of a head in a sentence. @param {View} view @param {any} role @param {number} max */
const headCell = ({ words, state: { mode, measure } }, role, max) => (sentence, head) => {
  const cell = make("td", { tabindex: -1, "data-head": head, class: `cell ${startClass(role, head)}` });
  const pattern = patternName(role, mode, sentence, head);
  const value = measure === "pattern" ? NaN : cellValue(role, mode, measure, sentence, head);
  cell.textContent = measure === "pattern" ? words.patterns[pattern] ?? pattern : number(value);
  paintCell(cell, value, max);
  return cell;
};

/** One row of the table for each sentence. @param {View} view @param {any} run @param {any} role */
const sentenceRows = (view, run, role) => {
  const { data, state: { mode, measure } } = view;
  const heads = Array.from({ length: role.layers * role.heads }, (_, head) => head);
  const cell = headCell(view, role, measure === "pattern" ? 1 : measureMax(role, mode, measure, data.sentences.length));
  return data.sentences.map(({ source, target }, sentence) => {
    const text = make("span", { text: `${sentence + 1}. ${source || target}` });
    return make("tr", { "data-sentence": sentence },
      rowHeader(text, { class: "sentence", title: [source, target].filter(Boolean).join(" → ") }),
      make("td", { text: number(run.log_probs[mode][sentence]) }), ...heads.map((head) => cell(sentence, head)));
  });
};

/**
 * Show one cell: the sentence and the weights by offset of the head.
 * @param {View} view
 * @param {any} role
 * @param {number} sentence
 * @param {number} head
 */
const detail = ({ data, words, state: { mode } }, role, sentence, head) => {
  const { source, target } = data.sentences[sentence], pattern = patternName(role, mode, sentence, head);
  const entropy = `${words.entropy}: ${number(cellValue(role, mode, "entropy", sentence, head))}`;
  return [
    make("p", {}, make("b", { text: `${words.sentence} ${sentence + 1} · ${headName(role, head, words)}` })),
    make("p", { text: [source, target].filter(Boolean).join(" → ") }),
    make("p", { text: role.role === "hops" ? entropy : `${words.patterns[pattern] ?? pattern} · ${entropy}` }),
    offsetChart(profile(role, mode, sentence, head), role, words, 3.5),
  ];
};

/**
 * Let clicks and arrow keys select cells.
 * @param {HTMLTableElement} table
 * @param {(sentence: number, head: number) => void} show
 * @param {AbortSignal} signal
 */
const selectCells = (table, show, signal) => {
  /** @type {HTMLTableCellElement | null} */
  let current = table.querySelector("td.cell");
  if (current) current.tabIndex = 0;
  const select = (cell) => {
    if (current) [current.tabIndex, current.ariaSelected] = [-1, null];
    current = cell;
    [cell.tabIndex, cell.ariaSelected] = [0, "true"];
    cell.focus();
    show(Number(cell.parentElement.dataset.sentence), Number(cell.dataset.head));
  };
  table.addEventListener("click", ({ target }) => {
    const cell = /** @type {Element} */ (target).closest("td.cell");
    if (cell) select(cell);
  }, { signal });
  table.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key];
    if (!current || !step || !hasNoModifier(event)) return;
    event.preventDefault();
    const sentence = Number(current.parentElement?.dataset.sentence) + step[0];
    const head = Number(current.dataset.head) + step[1];
    const cell = table.querySelector(`tr[data-sentence="${sentence}"] td[data-head="${head}"]`);
    if (cell) select(cell);
  }, { signal });
};

/** Return the roles of all models, in their order. @param {any} data @returns {string[]} */
export const allRoles = (data) => [...new Set(data.runs.flatMap((run) => run.roles.map(({ role }) => role)))];

/** Return the measures of a role: [value, label]. @param {View} view @returns {[string, string][]} */
export const measures = ({ data, words, state }) => {
  const role = data.runs.flatMap((run) => run.roles).find(({ role: name }) => name === state.role);
  const isByIndex = ["hops", "slots"].includes(state.role);
  const label = (offset) => (isByIndex ? words.atIndex(offset + 1) : words.atOffset(signed(offset, 0)));
  const offsets = (role?.offsets ?? []).map((offset) => [`offset:${offset}`, label(offset)]);
  const pattern = /** @type {[string, string][]} */ (state.role === "hops" ? [] : [["pattern", words.pattern]]);
  return [["entropy", words.entropy], ...pattern, ...offsets];
};

/** Return why a model shows no table. @param {View} view @param {any} run */
const absence = ({ words }, run) => {
  if (!run.roles.length) return run.task === "language_model" ? words.noAttentionAlone : words.noAttention;
  return words.otherRoles(run.roles.map(({ role }) => words[role]).join(", "));
};

/**
 * Draw the heads of one model.
 * @param {View} view
 * @param {any} run a model with unpacked roles
 * @param {AbortSignal} signal
 */
export const headsOf = (view, run, signal) => {
  const role = run.roles.find(({ role: name }) => name === view.state.role), { words } = view;
  if (!role) return make("p", { class: "note", text: absence(view, run) });
  const table = make("table", { role: "grid", "aria-label": `${runName(run)}: ${words[role.role]}` },
    make("thead", {}, ...headerRows(role, words)),
    make("tbody", {}, ...summaryRows(view, role), ...sentenceRows(view, run, role)));
  const hint = make("p", { class: "quiet", text: words.select });
  const shown = make("div", { class: "detail", "aria-live": "polite" }, hint);
  selectCells(table, (sentence, head) => shown.replaceChildren(...detail(view, role, sentence, head)), signal);
  return make("div", {}, make("p", { class: "quiet small", text: words.offsetHelp[role.role] }),
    make("div", { class: "scroll heads" }, table), shown);
};
