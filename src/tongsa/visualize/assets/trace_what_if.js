/** What if: edits that the server applies, then before | after | difference. */
import { make } from "./dom.js";
import { contrastView } from "./trace_contrast.js";
import { stageTitle } from "./trace_rail.js";
import { rowEditor } from "./trace_row_editor.js";

const SWITCHES = ["scale_off", "positions_off", "norm_off", "causal_off"];
const COMPARISONS = ["before", "after", "difference"];

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

/**
 * A control for each edit that changes something: [field, how to read the edit].
 * @returns {[HTMLElement, () => object[]][]}
 */
const editFields = (app) => {
  const labels = app.labels(),
    { step, head, layer } = app.state,
    base = app.baseData();
  /** @returns {[HTMLElement, () => object[]]} */
  const text = (label, attributes, read) => {
    const control = input({ type: "text", ...attributes });
    return [field(label, control), () => (control.value.trim() ? read(control.value) : [])];
  };
  /** @type {Record<string, () => [HTMLElement, () => object[]]>} */
  const fields = {
    source_text: () =>
      text(labels.edits.source_token, { value: base.texts.source, "aria-label": labels.editSource }, (value) =>
        value === base.texts.source ? [] : [{ type: "source_text", text: value }],
      ),
    force: () =>
      text(
        `${labels.edits.force} (${labels.step} ${step})`,
        { placeholder: app.store().data.target.outputs[step - 1] ?? "" },
        (token) => [{ type: "force", step, token }],
      ),
    head_off: () => {
      const choices = attentions(app).map(([id, title]) =>
        make("option", { value: app.store().meta(id).path, text: title }),
      );
      const control = make("select", {}, make("option", { value: "", text: "–" }), ...choices);
      const read = () => (control.value ? [{ type: "head_off", path: control.value, head }] : []);
      return [field(labels.edits.head_off(layer, head), control), read];
    },
    ...Object.fromEntries(SWITCHES.map((type) => [type, () => switchField(labels.edits[type], type)])),
    dropout: () =>
      text(labels.edits.dropout, { type: "number", min: 0, step: 1, placeholder: "1" }, (seed) => [
        { type: "dropout", seed: Number(seed) },
      ]),
    temperature: () =>
      text(labels.edits.temperature, { type: "number", min: 0.1, max: 5, step: 0.1, placeholder: "1" }, (value) => [
        { type: "temperature", value: Number(value) },
      ]),
  };
  return Object.entries(fields)
    .filter(([type]) => base.what_if?.includes(type))
    .map(([, create]) => create());
};

/** @returns {[HTMLElement, () => object[]]} */
const switchField = (label, type) => {
  const control = input({ type: "checkbox" });
  const element = make("label", { class: "field small" }, control, make("span", { text: label }));
  return [element, () => (control.checked ? [{ type }] : [])];
};

/** Buttons before | after | difference, and both outputs; hidden without an edit. */
const comparisonView = (app) => {
  const comparison = make("div", { class: "comparison", role: "group", hidden: "" }),
    outputs = make("p", { class: "small outputs" });
  const button = (name) =>
    make("button", {
      type: "button",
      class: "plain",
      "aria-pressed": app.state.compare === name,
      "data-compare": name,
      text: app.labels()[name],
      click: () => app.change({ compare: name }),
    });
  const show = () => {
    const labels = app.labels(),
      isEdited = app.editedData() !== null;
    comparison.hidden = !isEdited;
    outputs.hidden = !isEdited;
    comparison.setAttribute("aria-label", labels.compare);
    comparison.replaceChildren(...COMPARISONS.map(button));
    const [old, changed] = [app.baseData(), app.editedData()].map((trace) => trace?.texts.output);
    outputs.textContent = isEdited ? `${labels.before}: ${old} ⟶ ${labels.after}: ${changed}` : "";
  };
  return { elements: [comparison, outputs], show };
};

/** @param {HTMLElement} element */
export const whatIf = (app, element, signal) => {
  const form = make("form", { class: "edits" }),
    message = make("p", { class: "small", role: "status" }),
    summary = make("summary"),
    details = make("details", { class: "what-if" }, summary, form);
  const comparison = comparisonView(app),
    contrast = contrastView(app),
    row = rowEditor(app);
  element.append(details, message, ...comparison.elements, contrast.element);
  /** @type {(() => object[])[]} */
  let readers = [];

  const fill = () => {
    const labels = app.labels(),
      fields = editFields(app),
      hasRows = app.baseData().what_if?.includes("attention_row");
    readers = [...fields.map(([, read]) => read), ...(hasRows ? [row.edits] : [])];
    const apply = make("button", { class: "plain", text: labels.apply }),
      reset = make("button", { type: "button", class: "plain", text: labels.reset, click: () => app.resetEdits() });
    const controls = [...fields.map(([control]) => control), ...(hasRows ? [row.element] : [])];
    form.replaceChildren(...controls, make("div", { class: "buttons" }, apply, reset));
  };
  const isInUse = () => form.contains(/** @type {ShadowRoot} */ (form.getRootNode()).activeElement);
  const showRow = async () => {
    if (details.open && !isInUse()) await row.show();
  };
  const show = async () => {
    details.hidden = !app.canEdit();
    summary.textContent = app.labels().whatIf;
    comparison.show();
    contrast.show();
    await showRow();
    if (!isInUse()) fill();
  };
  form.addEventListener(
    "submit",
    (event) => {
      event.preventDefault();
      app.requestEdits(readers.flatMap((read) => read()));
    },
    { signal },
  );
  details.addEventListener("toggle", () => show(), { signal });
  return {
    show,
    showRow,
    setMessage: (text) => {
      message.textContent = text;
    },
    open: () => {
      details.open = true;
    },
  };
};
