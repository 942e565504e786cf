/** What if: edits that the server applies, then before | after | difference; and why A was written and not B. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { signed } from "./format.js";
import { stageTitle } from "./trace_rail.js";
import { flatIndex } from "./trace_tensor.js";

const SWITCHES = ["scale_off", "positions_off", "norm_off", "causal_off"];
const COMPARISONS = ["before", "after", "difference"];

/** Weights divided by their sum; if all are zero, each gets the same. */
export const normalizedRow = (weights) => {
  const sum = weights.reduce((total, weight) => total + Math.max(0, weight), 0);
  return weights.map((weight) => (sum ? Math.max(0, weight) / sum : 1 / weights.length));
};

const input = (attributes) => make("input", attributes);
const field = (text, control) => make("label", { class: "field small" }, make("span", { text }), control);

/** Tensors of attention weights by head in the open layer: [id, title]. */
const attentions = (app) =>
  app
    .store()
    .data.stages.filter((stage) => stage.layer === null || app.isOpenLayer(stage))
    .flatMap((stage) =>
      stage.tensors
        .filter(
          (id) => app.store().equation(id).operation === "softmax" && app.store().meta(id).axes.includes("head"),
        )
        .map((id) => [id, `${app.labels().sides[stage.side]} · ${stageTitle(app, stage)}`]),
    );

/** The selected row of attention weights, if the selected cell lies in one. */
const selectedRow = async (app) => {
  const cell = app.state.pinned ?? app.state.cell,
    store = app.store();
  if (!cell || store.equation(cell.tensor).operation !== "softmax") return null;
  const meta = store.meta(cell.tensor),
    { data } = await store.load(cell.tensor),
    count = meta.shape[meta.shape.length - 1];
  const start = flatIndex(meta.shape, [...cell.index.slice(0, -1), 0]);
  const head = meta.axes[0] === "head" ? cell.index[0] + 1 : 1;
  return {
    path: meta.path,
    head,
    query: cell.index[cell.index.length - 2] + 1,
    weights: Array.from(data.subarray(start, start + count)),
    cell,
  };
};

/** @param {HTMLElement} element */
export const whatIf = (app, element, signal) => {
  const form = make("form", { class: "edits" }),
    message = make("p", { class: "small", role: "status" });
  const comparison = make("div", { class: "comparison", role: "group", hidden: "" });
  const summary = make("summary"),
    outputs = make("p", { class: "small outputs" }),
    contrast = make("div", { class: "contrast" });
  const details = make("details", { class: "what-if" }, summary, form);
  element.append(details, message, comparison, outputs, contrast);
  /** @type {any} */
  let row = null;
  /** @type {any} */
  let controls = {};

  const can = (type) => app.canEdit() && (app.baseData().what_if ?? []).includes(type);
  const checkbox = (type) => {
    controls[type] = input({ type: "checkbox" });
    return make("label", { class: "field small" }, controls[type], make("span", { text: app.labels().edits[type] }));
  };
  const headField = () => {
    controls.path = make(
      "select",
      {},
      make("option", { value: "", text: "–" }),
      ...attentions(app).map(([id, title]) => make("option", { value: app.store().meta(id).path, text: title })),
    );
    return field(app.labels().edits.head_off(app.state.layer, app.state.head), controls.path);
  };
  const rowEditor = () => {
    if (!row)
      return make("p", {
        class: "small quiet",
        text: `${app.labels().edits.attention_row}: ${app.labels().needsRow}`,
      });
    const names = app.keyNames(row.cell);
    controls.row = row.weights.map((weight) =>
      input({ type: "range", min: 0, max: 1, step: 0.01, value: weight.toFixed(2) }),
    );
    controls.useRow = input({ type: "checkbox" });
    return make(
      "fieldset",
      { class: "row-editor" },
      make("legend", { class: "small", text: app.labels().edits.attention_row }),
      make("label", { class: "field small" }, controls.useRow, make("span", { text: app.labels().rowHelp })),
      ...controls.row.map((slider, i) => field(displayToken(names[i]), slider)),
    );
  };
  const fill = () => {
    const labels = app.labels(),
      fields = [];
    controls = {};
    if (can("source_text") || can("source_token")) {
      controls.source = input({ type: "text", value: app.baseData().texts.source, "aria-label": labels.editSource });
      fields.push(field(labels.edits.source_token, controls.source));
    }
    if (can("force")) {
      controls.force = input({
        type: "text",
        placeholder: app.store().data.target.outputs[app.state.step - 1] ?? "",
      });
      fields.push(field(`${labels.edits.force} (${labels.step} ${app.state.step})`, controls.force));
    }
    if (can("head_off")) fields.push(headField());
    for (const type of SWITCHES) if (can(type)) fields.push(checkbox(type));
    if (can("dropout")) {
      controls.dropout = input({ type: "number", min: 0, step: 1, placeholder: "1" });
      fields.push(field(labels.edits.dropout, controls.dropout));
    }
    if (can("temperature")) {
      controls.temperature = input({ type: "number", min: 0.1, max: 5, step: 0.1, placeholder: "1" });
      fields.push(field(labels.edits.temperature, controls.temperature));
    }
    if (can("attention_row")) fields.push(rowEditor());
    form.replaceChildren(
      ...fields,
      make(
        "div",
        { class: "buttons" },
        make("button", { class: "plain", text: labels.apply }),
        make("button", { type: "button", class: "plain", text: labels.reset, click: () => app.resetEdits() }),
      ),
    );
  };
  const collect = () => {
    const edits = [],
      { source, force, path, dropout, temperature } = controls;
    if (source && source.value.trim() && source.value !== app.baseData().texts.source)
      edits.push({ type: "source_text", text: source.value });
    if (force?.value.trim()) edits.push({ type: "force", step: app.state.step, token: force.value });
    if (path?.value) edits.push({ type: "head_off", path: path.value, head: app.state.head });
    for (const type of SWITCHES) if (controls[type]?.checked) edits.push({ type });
    if (dropout?.value) edits.push({ type: "dropout", seed: Number(dropout.value) });
    if (temperature?.value) edits.push({ type: "temperature", value: Number(temperature.value) });
    if (controls.useRow?.checked)
      edits.push({
        type: "attention_row",
        path: row.path,
        head: row.head,
        query: row.query,
        weights: normalizedRow(controls.row.map(({ value }) => Number(value))),
      });
    return edits;
  };
  form.addEventListener(
    "submit",
    (event) => {
      event.preventDefault();
      app.requestEdits(collect());
    },
    { signal },
  );

  const showComparison = () => {
    const labels = app.labels(),
      isEdited = app.editedData() !== null;
    comparison.hidden = !isEdited;
    outputs.hidden = !isEdited;
    comparison.setAttribute("aria-label", labels.compare);
    comparison.replaceChildren(
      ...COMPARISONS.map((name) =>
        make("button", {
          type: "button",
          class: "plain",
          "aria-pressed": app.state.compare === name,
          "data-compare": name,
          text: labels[name],
          click: () => app.change({ compare: name }),
        }),
      ),
    );
    const [old, changed] = [app.baseData(), app.editedData()].map((trace) => trace?.texts.output);
    outputs.textContent = isEdited ? `${labels.before}: ${old} ⟶ ${labels.after}: ${changed}` : "";
  };

  // ── why A and not B ──
  const pairForm = (labels) => {
    const top = app.store().data.output?.top?.[app.state.step - 1] ?? [];
    if (!app.canEdit() || top.length < 2) return [];
    const choose = (selected) =>
      make(
        "select",
        {},
        ...top.map(({ token }, i) =>
          make("option", { value: token, text: displayToken(token), ...(i === selected ? { selected: "" } : {}) }),
        ),
      );
    const a = choose(0),
      b = choose(1);
    a.setAttribute("aria-label", "A");
    b.setAttribute("aria-label", "B");
    return [
      make(
        "div",
        { class: "buttons" },
        a,
        make("span", { class: "small", text: labels.instead }),
        b,
        make("button", {
          type: "button",
          class: "plain",
          text: labels.apply,
          click: () => app.requestContrast({ step: app.state.step, a: a.value, b: b.value }),
        }),
      ),
    ];
  };
  const bars = ({ step, a, b, difference, terms }, labels) => {
    const largest = Math.max(...terms.map(({ value }) => Math.abs(value)), 1e-9),
      { language } = app.state;
    const name = (term) =>
      term[language] ??
      term.en ??
      [term.path, term.head ? labels.headOf(term.head, "") : ""].filter(Boolean).join(" · ");
    const line = (text, value, style = "") => {
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
    const rows = [...terms]
      .sort((x, y) => Math.abs(y.value) - Math.abs(x.value))
      .slice(0, 16)
      .map((term) => line(name(term), term.value));
    return [
      make("h4", { text: `${labels.step} ${step}: ${labels.why(displayToken(a), displayToken(b))}` }),
      make("p", { class: "small quiet", text: labels.whyHelp }),
      make(
        "div",
        { class: "table", tabindex: 0, role: "group", "aria-label": labels.why(a, b) },
        make("table", {}, make("tbody", {}, ...rows, line(labels.total, difference, "total"))),
      ),
    ];
  };
  const showContrast = () => {
    const labels = app.labels(),
      found = app.store().data.contrasts ?? [];
    const form = pairForm(labels);
    contrast.replaceChildren(
      ...(found.length || form.length
        ? [
            make(
              "details",
              contrast.querySelector("details")?.open ? { open: "" } : {},
              make("summary", { text: labels.contrast }),
              ...form,
              ...found.flatMap((item) => bars(item, labels)),
            ),
          ]
        : []),
    );
  };

  const show = async () => {
    details.hidden = !app.canEdit();
    summary.textContent = app.labels().whatIf;
    showComparison();
    showContrast();
    row = details.open ? await selectedRow(app) : null;
    if (!form.contains(/** @type {ShadowRoot} */ (form.getRootNode()).activeElement)) fill();
  };
  details.addEventListener("toggle", () => show(), { signal });
  return {
    show,
    setMessage: (text) => {
      message.textContent = text;
    },
    open: () => {
      details.open = true;
    },
  };
};
