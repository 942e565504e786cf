/** Section of the hidden states: before and after every norm, with bars of one scale for all models. */
import { make } from "./dom.js";
import { largest, number } from "./inspect_data.js";
import { barCell, columnHeader, dataTable, rowHeader, runName, scrollRegion } from "./inspect_markup.js";

/** @typedef {import("./inspect.js").View} View */

/**
 * Return the value of a site, or null if it has no norm.
 * @param {View} view
 * @param {any} site
 * @param {"before" | "after"} part
 * @returns {number | null}
 */
const valueOf = ({ data, state }, site, part) =>
  site[part]?.[state.mode][data.statistics.indexOf(state.statistic)] ?? null;

/** Return the largest absolute value of all models. @param {View} view */
export const statesMax = (view) => largest(view.data.runs.flatMap((run) =>
  run.states.flatMap((site) => [valueOf(view, site, "before"), valueOf(view, site, "after")])));

/** Return where a site is. @param {View} view @param {any} site */
const siteName = ({ words, language }, site) => {
  const title = site.title[language === "ko" ? 1 : 0], name = words.names[site.name] ?? site.name;
  const parts = [words.sides[site.side], site.layer ? words.layer(site.layer) : "", title];
  return [...parts, name.toLowerCase() === title.toLowerCase() ? "" : name].filter(Boolean).join(" · ");
};

/**
 * Draw the states of one model.
 * @param {View} view
 * @param {any} run
 * @param {number} max the value with the longest bar
 */
export const statesOf = (view, run, max) => {
  const { words, state } = view;
  const cell = (value) => (value === null ? make("td", { class: "quiet", text: words.noNorm })
    : barCell(Math.abs(value) / max, number(value)));
  const rows = run.states.map((site) => make("tr", {},
    rowHeader(siteName(view, site), { title: `${site.path} ${site.name}` }),
    cell(valueOf(view, site, "before")), cell(valueOf(view, site, "after"))));
  const headers = [words.where, words.before, words.after].map((text) => columnHeader(text));
  const label = `${runName(run)}: ${words.statistics[state.statistic]}`;
  return scrollRegion(words.states, dataTable({ class: "states", "aria-label": label }, headers, rows));
};
