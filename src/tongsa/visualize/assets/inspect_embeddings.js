/** Section of the embeddings: search of a token, and its nearest neighbors in the tables of every model. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { matchTokens, number } from "./inspect_data.js";
import { barCell, columnHeader, dataTable, rowHeader } from "./inspect_markup.js";
import { histogram } from "./inspect_weights.js";

/** @typedef {import("./inspect.js").View} View */

/** Largest number of tokens that a search shows. */
const MAX_MATCHES = 12;

/** Return the tokens whose neighbors are listed in any table. @param {any} data @returns {string[]} */
export const listedTokens = (data) => [...new Set(data.runs.flatMap((run) =>
  run.embeddings.flatMap((table) => table.strings.slice(0, table.tokens))))];

/**
 * The search for a token: matching tokens are buttons.
 * @param {View} view
 * @param {(token: string) => void} onChoose
 * @param {AbortSignal} signal
 */
export const tokenSearch = ({ data, words, state }, onChoose, signal) => {
  const tokens = listedTokens(data), label = { placeholder: words.search, "aria-label": words.search };
  const input = make("input", { type: "search", maxlength: 60, ...label }), matches = make("div", { class: "matches" });
  const button = (token) => make("button", {
    type: "button", "aria-pressed": token === state.token, text: displayToken(token), click: () => onChoose(token),
  });
  const show = () => matches.replaceChildren(...matchTokens(tokens, input.value, MAX_MATCHES).map(button));
  input.addEventListener("input", show, { signal });
  show();
  return make("div", { class: "search" }, input, matches);
};

/** Rows of the neighbors of a token; a listed neighbor is a button. */
const neighborRows = (table, row, onChoose) => Array.from({ length: table.count }, (_, i) => {
  const index = row * table.count + i, neighbor = table.neighbors[index], cosine = table.cosines[index];
  const token = table.strings[neighbor], text = displayToken(token), click = () => onChoose(token);
  const name = neighbor < table.tokens ? make("button", { type: "button", class: "link", text, click }) : text;
  return make("tr", {}, rowHeader(name), barCell(Math.max(cosine, 0), number(cosine)));
});

/**
 * Draw the embedding tables of one model and the neighbors of the chosen token.
 * @param {View} view
 * @param {any} run a model with unpacked tables
 * @param {(token: string) => void} onChoose
 */
export const embeddingsOf = ({ words, state }, run, onChoose) => {
  if (!run.embeddings.length) return make("p", { class: "note", text: words.noTable });
  return make("div", { class: "tables" }, ...run.embeddings.map((table) => {
    const row = table.strings.slice(0, table.tokens).indexOf(state.token);
    const caption = `${table.used_by.map((use) => words.table[use]).join(" = ")} · ${table.shape.join(" × ")}`;
    const attributes = { class: "neighbors", "aria-label": `${caption}: ${displayToken(state.token)}` };
    const headers = [columnHeader(words.neighbor), columnHeader(words.cosine)];
    const neighbors = row < 0 ? make("p", { class: "note", text: words.notListed(table.tokens) })
      : dataTable(attributes, headers, neighborRows(table, row, onChoose));
    return make("section", {}, make("h4", { text: caption }), histogram(table, table.largest, words), neighbors);
  }));
};
