/** The empty elements of the attention panel. */
import { make } from "./dom.js";

const button = (id, style, text = "") => make("button", { type: "button", id, class: style, text });

const sentence = () => make("section", { id: "sentence", "aria-labelledby": "sentence-label" },
  make("div", { class: "chooser" },
    make("label", { for: "example", id: "sentence-label" }), button("before", "step", "‹"), make("select", { id: "example" }), button("after", "step", "›")),
  make("dl", { id: "texts" }));

const overview = () => make("section", { id: "overview" },
  make("div", { class: "scroller" }, make("div", { id: "thumbs", role: "group" })),
  make("p", { id: "keys-help", class: "quiet small" }),
  make("details", { id: "naming", class: "small" }, make("summary"), make("div")));

const detail = () => make("section", { id: "detail", "aria-labelledby": "head-name" },
  make("div", { class: "headline" },
    make("h2", { id: "head-name" }),
    make("div", { class: "tools" }, button("smaller", "step", "−"), button("larger", "step", "+"), button("save", "plain"))),
  make("p", { id: "head-fact" }),
  make("p", { id: "axes", class: "quiet small" }),
  make("div", { id: "stage", tabindex: 0, role: "application" }, make("div", { id: "sheet" }, make("canvas", { id: "picture" }))),
  make("p", { id: "readout", class: "small", role: "status" }),
  make("div", { class: "legend" },
    make("span", { id: "legend-title", class: "quiet small" }), make("span", { class: "small figure", text: "0" }),
    make("span", { id: "ramp", "aria-hidden": true }), make("span", { id: "legend-max", class: "small figure" })),
  make("h3", { id: "patterns-title" }),
  make("div", { id: "patterns" }));

export const attentionMarkup = () => [
  make("p", { id: "note", class: "quiet" }),
  sentence(),
  make("div", { class: "bar" }, make("div", { id: "tabs", role: "tablist" }), make("div", { id: "switches" })),
  make("div", { id: "panel", role: "tabpanel", tabindex: -1 }, overview(), detail()),
  make("div", { id: "tip", hidden: "" }),
];
