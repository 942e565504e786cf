/** Why A was written and not B: the difference of two logits, split over the parts of the model. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { signed } from "./format.js";

/** Terms of a contrast that are listed. */
const MAX_TERMS = 16;

/** Choosers of two tokens among the likeliest of the step, where the server can answer. */
const pairForm = (app) => {
  const labels = app.labels(),
    top = app.store().data.output?.top?.[app.state.step - 1] ?? [];
  if (!app.canEdit() || top.length < 2) return [];
  const choose = (name, selected) =>
    make(
      "select",
      { "aria-label": name },
      ...top.map(({ token }, i) =>
        make("option", { value: token, text: displayToken(token), ...(i === selected ? { selected: "" } : {}) }),
      ),
    );
  const a = choose("A", 0),
    b = choose("B", 1);
  const apply = () => app.requestContrast({ step: app.state.step, a: a.value, b: b.value });
  return [
    make(
      "div",
      { class: "buttons" },
      a,
      make("span", { class: "small", text: labels.instead }),
      b,
      make("button", { type: "button", class: "plain", text: labels.apply, click: apply }),
    ),
  ];
};

/** A term with a bar to the left or to the right. */
const termRow = (text, value, largest, style = "") => {
  const fill = make("span", { class: `bar ${value < 0 ? "negative" : ""}` });
  fill.style.width = `${Math.min(1, Math.abs(value) / largest) * 50}%`;
  return make(
    "tr",
    { class: style },
    make("th", { scope: "row", text }),
    make("td", { class: "bars two-sided" }, fill),
    make("td", { class: "value", text: signed(value, 3) }),
  );
};

/** The largest terms of one contrast, and their sum. */
const termTable = (app, { step, a, b, difference, terms }) => {
  const largest = Math.max(...terms.map(({ value }) => Math.abs(value)), 1e-9),
    { language } = app.state,
    labels = app.labels();
  const name = (term) =>
    term[language] ?? term.en ?? [term.path, term.head ? labels.headOf(term.head, "") : ""].filter(Boolean).join(" · ");
  const rows = [...terms]
    .sort((x, y) => Math.abs(y.value) - Math.abs(x.value))
    .slice(0, MAX_TERMS)
    .map((term) => termRow(name(term), term.value, largest));
  return [
    make("h4", { text: `${labels.step} ${step}: ${labels.why(displayToken(a), displayToken(b))}` }),
    make("p", { class: "small quiet", text: labels.whyHelp }),
    make(
      "div",
      { class: "table", tabindex: 0, role: "group", "aria-label": labels.why(a, b) },
      make("table", {}, make("tbody", {}, ...rows, termRow(labels.total, difference, largest, "total"))),
    ),
  ];
};

/** @param {any} app */
export const contrastView = (app) => {
  const element = make("div", { class: "contrast" });
  const show = () => {
    const contrasts = app.store().data.contrasts ?? [],
      form = pairForm(app);
    if (!contrasts.length && !form.length) {
      element.replaceChildren();
      return;
    }
    const isOpen = element.querySelector("details")?.open,
      summary = make("summary", { text: app.labels().contrast });
    const tables = contrasts.flatMap((contrast) => termTable(app, contrast));
    element.replaceChildren(make("details", isOpen ? { open: "" } : {}, summary, ...form, ...tables));
  };
  return { element, show };
};
