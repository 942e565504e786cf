/** Highlighting: the pointed word, or the chosen output step, in the output and the attention of all columns. */
import { reading, rowOf, wordOfToken } from "./family_data.js";
import { percent } from "./format.js";

/** @typedef {import("./family_data.js").Moment} Moment */
/** @typedef {import("./family_data.js").Grid} Grid */
/** @typedef {import("./family_view.js").View} View */

/** Sources listed under a heat map. */
const READ_COUNT = 2;

/**
 * Return the row of a grid to highlight; −1 for none.
 * @param {View["state"]} state
 * @param {Moment} moment
 * @param {Grid} grid
 */
const highlightedRow = ({ hovered, unit, step }, { reads, target }, grid) => {
  if (hovered) return rowOf(grid, hovered.word, hovered.row);
  if (reads === "hops") return -1;
  const token = Math.min(step, target.tokens.length - 1);
  return unit === "tokens" || reads === "history" ? token : wordOfToken(target, token);
};

/** @param {Grid} grid @param {number} row */
const readingText = (grid, row) => {
  const sources = reading(grid, row, READ_COUNT).map(([key, weight]) => `${key} ${percent(weight)}`);
  return `${grid.queries[row]} ← ${sources.join(", ")}`;
};

/**
 * Mark words and rows in the cells of all columns, and write what the highlighted word reads.
 * @param {View} view
 * @param {Record<string, HTMLElement[]>} cells row → the cell of each column
 */
export const highlight = (view, cells) => {
  const word = view.state.hovered?.word;
  view.columns.forEach((column, i) => {
    const words = [cells.output[i], cells.reads[i]].flatMap((cell) => [...cell.querySelectorAll("[data-word]")]);
    for (const element of words) {
      element.classList.toggle("lit", element.getAttribute("data-word") === word);
    }
    const moment = view.moment(column), grid = view.grid(column, moment);
    const line = cells.reads[i].querySelector(".reading");
    if (!grid || !line) return;
    const row = highlightedRow(view.state, moment, grid);
    for (const element of cells.reads[i].querySelectorAll("tr[data-row]")) {
      element.classList.toggle("here", element.getAttribute("data-row") === String(row));
    }
    line.textContent = row >= 0 ? readingText(grid, row) : word ? "–" : "";
  });
};

/**
 * Call `change` with the word under the pointer, or null.
 * @param {HTMLElement} table
 * @param {(hovered: View["state"]["hovered"]) => void} change
 * @param {AbortSignal} [signal]
 */
export const onPointedWord = (table, change, signal) => {
  table.addEventListener("pointerover", (event) => {
    const element = /** @type {Element} */ (event.target).closest("[data-word]");
    const word = element?.getAttribute("data-word");
    change(element && word ? { word, row: Number(element.getAttribute("data-row")) } : null);
  }, { signal });
  table.addEventListener("pointerleave", () => change(null), { signal });
};
