/** Editor of the selected row of attention weights: one slider for each key. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { flatIndex } from "./trace_tensor.js";

/** Weights divided by their sum; if all are zero, each gets the same. */
export const normalizedRow = (weights) => {
  const sum = weights.reduce((total, weight) => total + Math.max(0, weight), 0);
  return weights.map((weight) => (sum ? Math.max(0, weight) / sum : 1 / weights.length));
};

/** The selected row of attention weights, if the selected cell lies in one. */
const selectedRow = async (app) => {
  const cell = app.state.pinned ?? app.state.cell,
    store = app.store();
  if (!cell || store.equation(cell.tensor).operation !== "softmax") return null;
  const meta = store.meta(cell.tensor),
    { data } = await store.load(cell.tensor),
    count = meta.shape[meta.shape.length - 1],
    start = flatIndex(meta.shape, [...cell.index.slice(0, -1), 0]);
  return {
    path: meta.path,
    head: meta.axes[0] === "head" ? cell.index[0] + 1 : 1,
    query: cell.index[cell.index.length - 2] + 1,
    weights: Array.from(data.subarray(start, start + count)),
    cell,
  };
};

/** @param {any} app */
export const rowEditor = (app) => {
  const element = make("div");
  /** @type {any} */
  let row = null;
  /** @type {HTMLInputElement[]} */
  let sliders = [];
  let use = make("input", { type: "checkbox" });

  const fill = () => {
    const labels = app.labels();
    if (!row) {
      const hint = `${labels.edits.attention_row}: ${labels.needsRow}`;
      element.replaceChildren(make("p", { class: "small quiet", text: hint }));
      return;
    }
    const names = app.keyNames(row.cell);
    use = make("input", { type: "checkbox" });
    sliders = row.weights.map((weight) =>
      make("input", { type: "range", min: 0, max: 1, step: 0.01, value: weight.toFixed(2) }),
    );
    for (const slider of sliders) slider.addEventListener("input", () => (use.checked = true));
    const fields = sliders.map((slider, i) =>
      make("label", { class: "field small" }, make("span", { text: displayToken(names[i]) }), slider),
    );
    element.replaceChildren(
      make(
        "fieldset",
        { class: "row-editor" },
        make("legend", { class: "small", text: labels.edits.attention_row }),
        make("label", { class: "field small" }, use, make("span", { text: labels.rowHelp })),
        ...fields,
      ),
    );
  };
  return {
    element,
    /** Follow the selection; a row that is being edited stays. */
    show: async () => {
      row = await selectedRow(app);
      fill();
    },
    /** The edit, if the row was changed. @returns {object[]} */
    edits: () => {
      if (!row || !use.checked) return [];
      const weights = normalizedRow(sliders.map(({ value }) => Number(value)));
      return [{ type: "attention_row", path: row.path, head: row.head, query: row.query, weights }];
    },
  };
};
