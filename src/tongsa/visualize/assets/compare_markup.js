/** Markup that the sections of the comparison page share: names that may break, tables that scroll. */
import { make } from "./dom.js";

/** Return a name that may break after its signs, not inside its words. @param {string} name @returns {(string | Node)[]} */
export const breakable = (name) => name.split(/(?<=[._/\-+ ])/u).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));

/** @param {string} label @param {string[]} headers @param {HTMLTableRowElement[]} rows @param {string} [style] */
export const scrollTable = (label, headers, rows, style = "") =>
  make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    make("table", { class: style }, make("thead", {}, make("tr", {}, ...headers.map((text) => make("th", { scope: "col" }, ...breakable(text))))),
      make("tbody", {}, ...rows)));

/** @param {string} name @param {(string | Node)[]} cells */
export const row = (name, cells) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, ...breakable(name)),
  ...cells.map((cell) => make("td", { dir: "auto" }, cell)));
