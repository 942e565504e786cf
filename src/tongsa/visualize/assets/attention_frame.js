/** The empty frame that attention is drawn into. */
import { make } from "./elements.js";

const button = (id, kind, text = "") => make("button", { type: "button", id, class: kind, text });

const sentence = () => make("section", { id: "sentence", "aria-labelledby": "sentence-label" },
  make("div", { class: "chooser" },
    make("label", { for: "reading", id: "sentence-label" }), button("before", "step", "‹"), make("select", { id: "reading" }), button("after", "step", "›")),
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
    make("span", { id: "ramp", "aria-hidden": true }), make("span", { id: "most", class: "small figure" })),
  make("h3", { id: "places-title" }),
  make("div", { id: "places" }));

export const frame = () => [
  make("p", { id: "note", class: "quiet" }),
  sentence(),
  make("div", { class: "bar" }, make("div", { id: "tabs", role: "tablist" }), make("div", { id: "switches" })),
  make("div", { id: "panel", role: "tabpanel", tabindex: -1 }, overview(), detail()),
  make("div", { id: "tip", hidden: "" }),
];
