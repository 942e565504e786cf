/** Markup that the sections of the inspection page share: tables, bars, choices. */
import { make } from "./dom.js";

/** @param {string | Node} content @param {Record<string, any>} [attributes] */
export const columnHeader = (content, attributes = {}) => make("th", { scope: "col", ...attributes }, content);

/** @param {string | Node} content @param {Record<string, any>} [attributes] */
export const rowHeader = (content, attributes = {}) => make("th", { scope: "row", ...attributes }, content);

/**
 * Return a table.
 * @param {Record<string, any>} attributes
 * @param {Node[]} headers cells of the first row
 * @param {Node[]} rows
 */
export const dataTable = (attributes, headers, rows) =>
  make("table", attributes, make("thead", {}, make("tr", {}, ...headers)), make("tbody", {}, ...rows));

/** Return a region that scrolls, also by keyboard. @param {string} label @param {...Node} children */
export const scrollRegion = (label, ...children) =>
  make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);

/** Return a table cell with a bar behind its number. @param {number} share from 0 to 1 @param {string} text */
export const barCell = (share, text) => make("td", { class: "bar-cell" },
  make("span", { class: "bar", style: `width: ${(share * 100).toFixed(1)}%` }), make("span", { class: "value", text }));

/**
 * Return a select with a label.
 * @param {string} label
 * @param {[string, string][]} options value and text
 * @param {string} value
 * @param {(value: string) => void} onChange
 * @param {AbortSignal} signal
 */
export const choice = (label, options, value, onChange, signal) => {
  const select = make("select", {}, ...options.map(([key, text]) => make("option", { value: key, text })));
  select.value = value;
  select.addEventListener("change", () => onChange(select.value), { signal });
  return make("label", { class: "choice" }, make("span", { text: label }), select);
};

/** Return the name of a model. @param {any} run */
export const runName = (run) => run.name || run.kind;
