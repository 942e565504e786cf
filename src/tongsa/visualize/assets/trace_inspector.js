/** Inspector of one number: what it is, how it is computed, its code and paper, what reads it, the check. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { number } from "./trace_attention_terms.js";
import { cardTitle, shapeText } from "./trace_card_data.js";
import { axisLabels, axisNames, grownLength } from "./trace_layout.js";
import { formulaElement } from "./trace_math.js";
import { flatIndex } from "./trace_tensor.js";
import { largestTerms } from "./trace_uses.js";

const MAX_TERMS = 7;
const CODE_CONTEXT = 8;

/** An index as text: tokens where the axis counts tokens, else numbers from 1; a whole axis is a middle dot. */
export const indexText = (data, meta, index) =>
  index
    .map((i, axis) => {
      if (i === null) return ":";
      const label = axisNames(data, meta, axis)[i] ?? String(i + 1);
      return axisLabels(meta, axis) ? displayToken(label) : String(i + 1);
    })
    .join(", ");

/** S[·go, ·home], without the head, which is chosen for all cards. */
export const cellName = (store, { tensor, index }) => {
  const meta = store.meta(tensor),
    symbol = store.equation(tensor).symbol ?? meta.name;
  const skip = meta.axes[0] === "head" ? 1 : 0,
    [axes, shape, labels] = [meta.axes, meta.shape, meta.labels ?? []].map((list) => list.slice(skip));
  if (index.length <= skip) return symbol;
  return `${symbol}[${indexText(store.data, { ...meta, axes, shape, labels }, index.slice(skip))}]`;
};

/** The excerpt of a file that contains a line. */
export const excerptOf = (code, file, line) => {
  const excerpts = [code?.[file] ?? []].flat();
  return excerpts.find(({ start, lines }) => line >= start && line < start + lines.length) ?? null;
};

const section = (title, ...children) => make("section", { class: "fact" }, make("h4", { text: title }), ...children);

const calculation = (app, cell, { terms, lines }) => {
  const labels = app.labels(),
    store = app.store(),
    operands = store.operandsOf(cell.tensor);
  const { largest, count, rest } = largestTerms(terms, MAX_TERMS),
    rows = [];
  const termName = ({ operand, axis, i }) => {
    if (axis === undefined) return operand === undefined ? "" : operands[operand].symbol;
    const meta = store.meta(operands[operand].id);
    return axisLabels(meta, axis) ? displayToken(axisNames(store.data, meta, axis, labels.axes.hop)[i]) : String(i + 1);
  };
  const line = (name, text, value, style = "") =>
    make(
      "tr",
      { class: style },
      make("th", { scope: "row", text: name }),
      make("td", { text }),
      make("td", { class: "value", text: number(value) }),
    );
  for (const term of largest) rows.push(line(termName(term), term.text, term.value));
  if (count) rows.push(line("", `… ${labels.more(count)}`, rest, "rest"));
  for (const { text, value } of lines) rows.push(line("", text, value, "total"));
  return rows.length
    ? [
        make(
          "div",
          { class: "terms", tabindex: 0, role: "group", "aria-label": labels.how },
          make("table", {}, make("tbody", {}, ...rows)),
        ),
      ]
    : [];
};

const codeExcerpt = (app, meta) => {
  const labels = app.labels(),
    excerpt = excerptOf(app.store().data.code, meta.file, meta.line);
  const place = make("p", { class: "small place", text: `${meta.file}:${meta.line}` });
  if (!excerpt) return [place, make("p", { class: "small quiet", text: labels.noCode })];
  const from = Math.max(0, meta.line - excerpt.start - CODE_CONTEXT),
    to = meta.line - excerpt.start + CODE_CONTEXT + 1;
  const lines = excerpt.lines.slice(from, to).map((text, i) => {
    const isMarked = excerpt.start + from + i === meta.line;
    return make(isMarked ? "mark" : "span", { text: `${text}\n` });
  });
  return [
    place,
    make("pre", { class: "code", tabindex: 0, "aria-label": `${meta.file}, ${labels.line} ${meta.line}` }, ...lines),
  ];
};

const links = (app, list) =>
  make(
    "ul",
    { class: "links" },
    ...list.map(({ tensor, index, text }) =>
      make("li", {}, make("button", { type: "button", class: "link", text, click: () => app.goTo(tensor, index) })),
    ),
  );

const checkText = (labels, { check }) => {
  if (!check) return labels.checkStored;
  return (check.ok ? labels.checkOk : labels.checkFailed)(check.delta.toExponential(1));
};

const facts = (app, cell, loaded, explanation) => {
  const labels = app.labels(),
    store = app.store(),
    meta = store.meta(cell.tensor),
    equation = store.equation(cell.tensor);
  const calculationRows = calculation(app, cell, explanation);
  const reads = explanation.reads.map(({ tensor, symbol, region }) => ({
    tensor,
    index: region.map((i) => i ?? 0),
    text: `${symbol}[${indexText(store.data, store.meta(tensor), region)}] · ${cardTitle(app, tensor)}`,
  }));
  const consumers = store
    .consumersOf(cell.tensor)
    .map((tensor) => ({
      tensor,
      index: null,
      text: `${store.equation(tensor).symbol ?? store.meta(tensor).name} · ${cardTitle(app, tensor)}`,
    }));
  return [
    section(
      labels.how,
      ...(equation.formula ? [make("p", { class: "formula", tabindex: 0 }, formulaElement(equation.formula))] : []),
      make("p", { class: "small", text: equation[app.state.language] ?? equation.en ?? "" }),
      ...calculationRows,
    ),
    ...(reads.length ? [section(labels.reads, links(app, reads))] : []),
    section(labels.code, ...codeExcerpt(app, meta)),
    ...(equation.paper ? [section(labels.paper, make("p", { class: "small", text: equation.paper }))] : []),
    section(
      labels.usedBy,
      consumers.length ? links(app, consumers) : make("p", { class: "small quiet", text: labels.notUsed }),
    ),
    section(
      labels.check,
      make("p", {
        class: `small ${loaded.check ? (loaded.check.ok ? "ok" : "failed") : "quiet"}`,
        text: checkText(labels, loaded),
      }),
    ),
  ];
};

/** The handle that opens the bottom sheet of a phone: by a click or by dragging. */
const sheetHandle = (element, signal) => {
  const handle = make("button", { type: "button", class: "handle", "aria-expanded": false });
  /** @type {number | null} */
  let dragStart = null;
  const setOpen = (isOpen) => {
    element.classList.toggle("open", isOpen);
    handle.setAttribute("aria-expanded", isOpen);
  };
  const listen = (kind, react) => handle.addEventListener(kind, react, { signal });
  listen("click", () => setOpen(!element.classList.contains("open")));
  listen("pointerdown", (event) => {
    dragStart = event.clientY;
  });
  listen("pointermove", (event) => {
    if (dragStart === null || Math.abs(event.clientY - dragStart) < 24) return;
    setOpen(event.clientY < dragStart);
    dragStart = null;
  });
  listen("pointerup", () => {
    dragStart = null;
  });
  return { handle, setOpen };
};

/** Which number is pinned, with its value if another one is shown, and a button that unpins it. */
const pinnedParts = async (app) => {
  const { pinned: cell, cell: shown } = app.state;
  if (!cell) return [];
  const value = await app.store().value(cell.tensor, cell.index);
  const isShown = !shown || (shown.tensor === cell.tensor && String(shown.index) === String(cell.index));
  const text = isShown ? "" : `: ${cellName(app.store(), cell)} = ${value === null ? "–" : number(value)}`;
  return [
    `${app.labels().pinned}${text} `,
    make("button", { type: "button", class: "link", text: app.labels().unpin, click: () => app.pin(null) }),
  ];
};

/** All that is known of a number. */
const cellParts = (app, cell, loaded, explanation) => {
  const labels = app.labels(),
    meta = app.store().meta(cell.tensor),
    flat = flatIndex(meta.shape, cell.index);
  const isGrown = cell.index.every((i, axis) => i < grownLength(meta, axis, meta.shape[axis], app.state.step));
  const axes = meta.axes.map((axis) => labels.axes[axis] ?? axis).join(", ");
  const remarks = [
    loaded.masked?.[flat] === 1 ? labels.maskedCell : "",
    isGrown ? "" : labels.notYet,
    meta.edited ? labels.editedValue : "",
    meta.left_out?.length ? labels.leftOut(meta.left_out.join(", ")) : "",
  ];
  const copy = make("button", {
    type: "button",
    class: "plain",
    text: labels.copy,
    click: () => app.copy(String(loaded.data?.[flat])),
  });
  return [
    make("p", { class: "small quiet", text: `${cardTitle(app, cell.tensor)} · ${shapeText(meta)} (${axes})` }),
    ...remarks.filter(Boolean).map((text) => make("p", { class: "small", text })),
    ...facts(app, cell, loaded, explanation),
    copy,
  ];
};

/** @param {HTMLElement} element the inspector; its first child is the handle of the bottom sheet on a phone */
export const inspector = (app, element, signal) => {
  const name = make("p", { class: "cell-name" }),
    value = make("p", { class: "cell-value figure" }),
    pinned = make("p", { class: "small pinned" }),
    body = make("div", { class: "inspector-body" }),
    { handle, setOpen } = sheetHandle(element, signal);
  element.append(handle, make("div", { class: "summary", role: "status" }, name, value, pinned), body);
  let version = 0;

  const fill = (title, shown, parts) => {
    name.textContent = title;
    value.textContent = shown;
    body.replaceChildren(...parts);
  };
  /** Show the number that is pointed at, or the pinned one. */
  const show = async () => {
    const current = ++version,
      cell = app.state.cell ?? app.state.pinned,
      labels = app.labels(),
      store = app.store();
    handle.setAttribute("aria-label", labels.sheet);
    element.setAttribute("aria-label", labels.inspector);
    if (!cell) fill(labels.hint, "", [make("p", { class: "small quiet", text: labels.keys })]);
    else {
      const { tensor, index } = cell;
      const [loaded, explanation] = await Promise.all([store.load(tensor), store.explainCell(tensor, index)]);
      if (current !== version || signal.aborted) return;
      const shown = loaded.data ? number(loaded.data[flatIndex(store.meta(tensor).shape, index)]) : "–";
      fill(cellName(store, cell), shown, cellParts(app, cell, loaded, explanation));
    }
    pinned.replaceChildren(...(await pinnedParts(app)));
  };
  return { show, setOpen };
};
