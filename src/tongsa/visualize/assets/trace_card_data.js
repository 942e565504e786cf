/** Name of a card, and its numbers as a table, CSV, image and Python. */
import { make, saveBlob } from "./dom.js";
import { signed } from "./format.js";
import { valueText } from "./trace_canvas.js";
import { csvText } from "./trace_layout.js";

const MAX_TABLE_COLUMNS = 64;

/** Name of a tensor's card; without a title in the equation table, the last part of its name. */
export const cardTitle = (app, id) => {
  const { title, title_ko: korean } = app.store().equation(id),
    { name } = app.store().meta(id);
  const last = name.split(".").pop().replaceAll("_", " ");
  return (app.state.language === "ko" && korean) || title || last[0].toUpperCase() + last.slice(1);
};

export const shapeText = (meta) => meta.shape.join(" × ") || "1";

/** Python that returns this tensor. */
export const pythonText = (app, id) => {
  const { model, texts } = app.store().data,
    { path, name, occurrence = 1, axes } = app.store().meta(id),
    key = `${path}.${name}${occurrence > 1 ? `#${occurrence}` : ""}`,
    quote = (text) => JSON.stringify(text ?? "");
  return (
    `import tongsa\n\ntrace = tongsa.load(${quote(model.path ?? model.name)}).trace(${quote(texts.source)})\n` +
    `tensor = trace.tensors[${quote(key)}]  # (${axes.join(", ")})\n`
  );
};

/**
 * Elements of a card's data.
 *
 * @param {any} app
 * @param {string} id
 * @param {any} drawing what the card draws: part, names, layout
 * @param {Float32Array} shown numbers of the whole tensor
 * @param {Uint8Array | null} masked
 * @param {HTMLCanvasElement} canvas
 */
export const cardData = (app, id, drawing, shown, masked, canvas) => {
  const text = app.labels(),
    { part, rowNames, columnNames } = drawing,
    python = pythonText(app, id);
  const fileName = `${app.store().meta(id).name}-${id}`.replace(/[^\w.-]+/g, "_");
  const csv = () => csvText(rowNames, columnNames, (row, column) => shown[part.flat(row, column)]);
  const button = (name, click) => make("button", { type: "button", class: "plain", text: text[name], click });
  return [
    make(
      "div",
      { class: "buttons" },
      button("csv", () => saveBlob(new Blob([csv()], { type: "text/csv" }), `${fileName}.csv`)),
      button("png", () =>
        canvas.toBlob((blob) => {
          if (blob) saveBlob(blob, `${fileName}.png`);
        }),
      ),
      button("python", () => app.copy(python)),
    ),
    make("pre", { class: "python", tabindex: 0, text: python }),
    tableOf(app, drawing, shown, masked, cardTitle(app, id)),
  ];
};

/** All drawn numbers as an accessible table. */
const tableOf = (app, { part, rowNames, columnNames, layout: { rows }, grown }, numbers, masked, title) => {
  const labels = app.labels(),
    count = Math.min(part.columns, MAX_TABLE_COLUMNS),
    columns = Array.from({ length: count }, (_, i) => i);
  const cell = (row, column) => {
    if (row >= grown.rows || column >= grown.columns) return make("td", { text: "" });
    const flat = part.flat(row, column);
    return make("td", { text: masked?.[flat] ? valueText(numbers[flat], true, labels) : signed(numbers[flat], 4) });
  };
  const table = make(
    "table",
    {},
    make("caption", { text: labels.tableCaption(title) }),
    make(
      "thead",
      {},
      make("tr", {}, make("td"), ...columns.map((column) => make("th", { scope: "col", text: columnNames[column] }))),
    ),
    make(
      "tbody",
      {},
      ...rows.map((row) =>
        make(
          "tr",
          {},
          make("th", { scope: "row", text: rowNames[row] }),
          ...columns.map((column) => cell(row, column)),
        ),
      ),
    ),
  );
  const rest = part.columns - count;
  return make(
    "div",
    { class: "table", tabindex: 0, role: "group", "aria-label": labels.tableCaption(title) },
    table,
    ...(rest > 0 ? [make("p", { class: "quiet small", text: labels.moreColumns(rest) })] : []),
  );
};
