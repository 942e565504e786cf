/** Elements of the attention panel: the empty panel, its tabs and switches, the bars of the patterns. */
import { make } from "./dom.js";
import { percent } from "./format.js";

/** @typedef {import("./head_text.js").Words} Words */

const button = (id, style, text = "") => make("button", { type: "button", id, class: style, text });

const overview = () =>
  make(
    "section",
    { id: "overview" },
    make("div", { class: "scroller" }, make("div", { id: "thumbs", role: "group" })),
    make("p", { id: "keys-help", class: "quiet small" }),
  );

const detail = () =>
  make(
    "section",
    { id: "detail", "aria-labelledby": "head-name" },
    make(
      "div",
      { class: "headline" },
      make("h2", { id: "head-name" }),
      make(
        "div",
        { class: "tools" },
        button("smaller", "step", "−"),
        button("larger", "step", "+"),
        button("fit", "plain"),
        button("save", "plain"),
      ),
    ),
    make("p", { id: "axes", class: "quiet small" }),
    make(
      "div",
      { id: "stage", tabindex: 0, role: "application" },
      make("div", { id: "sheet" }, make("canvas", { id: "picture" })),
    ),
    make("p", { id: "readout", class: "small", role: "status" }),
    make(
      "div",
      { class: "legend" },
      make("span", { id: "legend-title", class: "quiet small" }),
      make("span", { class: "small figure", text: "0" }),
      make("span", { id: "ramp", "aria-hidden": true }),
      make("span", { id: "legend-max", class: "small figure" }),
      make("span", { id: "hatch", "aria-hidden": true }),
      make("span", { id: "hatch-label", class: "quiet small" }),
    ),
    make("p", { id: "head-fact" }),
    make("h3", { id: "patterns-title" }),
    make("div", { id: "patterns" }),
    make("details", { id: "naming", class: "small" }, make("summary"), make("div")),
  );

export const attentionMarkup = () => [
  make("p", { id: "note", class: "quiet" }),
  make("dl", { id: "texts" }),
  make("div", { class: "bar" }, make("div", { id: "tabs", role: "tablist" }), make("div", { id: "switches" })),
  make("p", { id: "caption", class: "small" }),
  make("div", { id: "panel", role: "tabpanel", tabindex: -1 }, overview(), detail()),
  make("div", { id: "tip", hidden: "" }),
];

/**
 * Return a tab for each role.
 * @param {Words} words
 * @param {string[]} roles
 * @param {string} current
 * @param {(role: string) => void} onChoose
 */
export const roleTabs = (words, roles, current, onChoose) =>
  roles.map((role) =>
    make("button", {
      type: "button",
      role: "tab",
      id: `tab-${role}`,
      text: words[role] ?? role,
      "aria-controls": "panel",
      "aria-selected": role === current,
      tabindex: role === current ? 0 : -1,
      click: () => onChoose(role),
    }),
  );

/**
 * Return a group of buttons for each option.
 * @param {Words} words
 * @param {Record<string, string[]>} options option → its values
 * @param {Record<string, string>} current
 * @param {(key: string, value: string) => void} onChoose
 */
export const switchGroups = (words, options, current, onChoose) => {
  const choice = (key, value) =>
    make("button", {
      type: "button",
      id: `${key}-${value}`,
      text: words[value],
      "aria-pressed": current[key] === value,
      click: () => onChoose(key, value),
    });
  return Object.entries(options).map(([key, values]) => {
    const buttons = values.map((value) => choice(key, value));
    return make("div", { class: "switch", role: "group", "aria-label": words[key] }, ...buttons);
  });
};

/**
 * Return name, bar and numbers of each pattern; a mark on the bar is the share under uniform attention.
 * @param {Words} words
 * @param {Record<string, import("./types.d.ts").HeadPatternShare>} patterns
 */
export const patternRows = (words, patterns) =>
  Object.entries(patterns).flatMap(([name, { share, uniform_share: uniform, is_testable: isTestable }]) => {
    const fill = make("span", { class: "fill" });
    const mark = make("span", { class: "uniform" });
    fill.style.width = `${share * 100}%`;
    mark.style.left = `calc(${uniform * 100}% - 1px)`;
    const comment = words.uniform(percent(uniform)) + (isTestable ? "" : words.untestable);
    return [
      make("span", { text: words.patterns[name] }),
      make("span", { class: "track", "aria-hidden": true }, fill, mark),
      make("span", { class: "value", text: percent(share) }, make("span", { text: comment })),
    ];
  });
