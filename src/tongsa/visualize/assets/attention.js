/** Attention panel: thumbnails of all layers and heads of a role, and one selected head in full size. */
import { attentionLabels } from "./attention_labels.js";
import { attentionMarkup } from "./attention_markup.js";
import { bitmap, colorStops } from "./colors.js";
import { ARROWS, css, hasNoModifier, make, onThemeChange } from "./dom.js";
import { clamp, percent, truncate } from "./format.js";
import { headCanvas } from "./head_canvas.js";
import { headWeights, maxPool, maxWeight } from "./weights.js";

const OPTIONS = { unit: ["tokens", "words"], view: ["heatmap", "lines"], scale: ["fixedScale", "maxScale"] };
const MAX_THUMBNAIL_CELLS = 96; // rows and columns
const PAINT_BUDGET_MS = 8; // time to paint thumbnails within one animation frame

/**
 * Draw into `root` (an element or a shadow root) the data of tongsa.visualize.attention.page_data.
 * `saved` is an earlier selection, `onChange` receives each new one. Returns `setLanguage`.
 */
export const draw = (root, data, { language = "en", saved = {}, onChange = () => {} } = {}) => {
  root.append(...attentionMarkup());
  const element = (id) => root.querySelector(`#${id}`);
  const allLabels = attentionLabels(data.thresholds);
  const state = { example: 0, role: "", layer: 0, head: 0, unit: "tokens", view: "heatmap", scale: "fixedScale", language };
  let drawing = 0; // number of the current drawing: asynchronous results of earlier ones are discarded

  // ── selection ──
  const labels = () => allLabels[state.language];
  const canvas = headCanvas(element, () => labels().hint);
  const roleName = (role) => (typeof labels()[role] === "string" ? labels()[role] : role);
  const example = () => data.examples[state.example];
  const role = () => example().roles.find(({ role: name }) => name === state.role);
  const grid = () => role()[state.unit];
  const layers = () => role().layers;
  const columnCount = (layer) => (layer.count > 1 ? layer.count + 1 : 1); // the last column is the mean
  const headName = (layer, head) => (layer.count > 1 && head === layer.count ? labels().meanOf : labels().headNumber(head + 1));
  const colorMax = (weights) => (state.scale === "fixedScale" ? 1 : maxWeight(weights) || 1);
  const weightsOf = (layer, head) => headWeights(role(), layer, head, state.unit, data.quantization_scale);

  const clampSelection = () => {
    state.example = clamp(state.example || 0, 0, data.examples.length - 1);
    const { roles } = example();
    if (!roles.length) return;
    if (!roles.some(({ role: name }) => name === state.role)) state.role = roles[0].role;
    state.layer = clamp(state.layer || 0, 0, layers().length - 1);
    state.head = clamp(state.head || 0, 0, columnCount(layers()[state.layer]) - 1);
  };
  const restore = (selection) => {
    for (const key of ["example", "layer", "head"]) state[key] = (parseInt(selection[key], 10) || 1) - 1;
    for (const [key, values] of Object.entries(OPTIONS)) if (values.includes(selection[key])) state[key] = selection[key];
    state.role = selection.role || "";
  };
  const notify = () => {
    const { role: name, unit, view, scale } = state;
    onChange({ role: name, unit, view, scale, example: state.example + 1, layer: state.layer + 1, head: state.head + 1 });
  };

  const showSentence = () => {
    const { text, translation, reference, score, is_label: isLabel } = example();
    element("note").textContent = data.note;
    element("note").hidden = !data.note;
    element("sentence-label").textContent = labels().sentence;
    const select = element("example");
    select.replaceChildren(...data.examples.map((item, i) => make("option", { value: i, text: `${i + 1}. ${truncate(item.text, 90)}` })));
    select.value = state.example;
    for (const [id, disabled] of [["before", state.example === 0], ["after", state.example === data.examples.length - 1]]) {
      element(id).disabled = disabled;
      element(id).setAttribute("aria-label", labels()[id]);
    }
    root.querySelector(".chooser").hidden = data.examples.length === 1;
    const rows = [["source", text], [isLabel ? "label" : "translation", translation], ["reference", reference]];
    if (score !== null) rows.push(["score", score.toFixed(3).replace("-", "−")]);
    element("texts").replaceChildren(...rows.filter(([, value]) => value).flatMap(([name, value]) =>
      [make("dt", { text: labels()[name] }), make("dd", { class: name === "label" ? "translation" : name, text: value, dir: "auto" })]));
  };

  const showTabs = () => {
    element("tabs").setAttribute("aria-label", labels().roles);
    element("tabs").replaceChildren(...example().roles.map(({ role: name }) => make("button", {
      type: "button", role: "tab", id: `tab-${name}`, text: roleName(name), "aria-controls": "panel",
      "aria-selected": name === state.role, tabindex: name === state.role ? 0 : -1,
      click: () => change({ role: name }),
    })));
    element("panel").setAttribute("aria-labelledby", `tab-${state.role}`);
  };

  const showSwitches = () => {
    element("switches").replaceChildren(...Object.entries(OPTIONS).map(([name, values]) =>
      make("div", { class: "switch", role: "group", "aria-label": labels()[name] }, ...values.map((value) => make("button", {
        type: "button", id: `${name}-${value}`, text: labels()[value], "aria-label": `${labels()[name]}: ${labels()[value]}`,
        "aria-pressed": state[name] === value, click: () => change({ [name]: value }),
      })))));
  };

  // ── thumbnails of all heads ──
  const showThumbs = () => {
    const columns = Math.max(...layers().map(columnCount)), heads = Math.max(...layers().map((layer) => layer.count));
    const box = element("thumbs");
    box.style.setProperty("--columns", columns);
    element("panel").style.setProperty("--overview", `${clamp(columns * 5.5 + 2, 10, 35)}rem`);
    box.setAttribute("aria-label", labels().overview);
    const titles = Array.from({ length: columns }, (_, i) =>
      make("span", { class: "head-number", "aria-hidden": true, text: columns > 1 && i === heads ? labels().mean : i + 1 }));
    const cells = [make("span"), ...titles];
    const queue = [];
    layers().forEach((layer, l) => {
      cells.push(make("span", { class: "layer-number", "aria-hidden": true, text: l + 1 }));
      for (let h = 0; h < columns; h++) cells.push(h < columnCount(layer) ? thumbnail(layer, l, h, queue) : make("span"));
    });
    box.replaceChildren(...cells);
    paintThumbs(queue, ++drawing);
    element("keys-help").textContent = labels().keysHelp;
    element("keys-help").hidden = columns === 1 && layers().length === 1;
    const naming = element("naming");
    naming.firstElementChild.textContent = labels().naming;
    naming.lastElementChild.replaceChildren(...labels().explanation.map((text) => make("p", { text })));
  };

  const thumbnail = (layer, l, h, queue) => {
    const { pattern, value, entropy } = grid().summaries[l][h];
    const image = make("canvas", { width: 160, height: 160, "aria-hidden": true });
    const number = pattern === "too_short" ? "" : percent(value); // a percentage would read as that of a pattern
    queue.push([image, layer, h]);
    return make("button", {
      type: "button", class: "thumb", id: `head-${l}-${h}`,
      "aria-label": labels().thumb(l + 1, headName(layer, h), labels()[pattern], number, entropy.toFixed(2)),
      click: () => selectHead(l, h),
    }, image, make("span", { class: "pattern", text: labels()[pattern] }), " ", make("span", { class: "number", text: number }));
  };

  const paintThumbs = async (queue, number) => {
    const { queries, keys } = grid();
    let deadline = performance.now() + PAINT_BUDGET_MS;
    for (const [image, layer, h] of queue) {
      const weights = await weightsOf(layer, h);
      if (performance.now() > deadline) { // the page stays responsive: the rest follows in the next frames
        await new Promise(requestAnimationFrame);
        deadline = performance.now() + PAINT_BUDGET_MS;
      }
      if (number !== drawing) return; // replaced by a newer drawing
      const [pooled, rows, columns] = maxPool(weights, queries.length, keys.length, MAX_THUMBNAIL_CELLS);
      const context = image.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.drawImage(bitmap(pooled, rows, columns, colorMax(weights)), 0, 0, image.width, image.height);
    }
  };

  const selectHead = (layer, head) => {
    state.layer = layer;
    state.head = head;
    canvas.clearHover();
    notify();
    return showHead();
  };

  // ── the selected head ──
  const showHead = async () => {
    const id = `head-${state.layer}-${state.head}`;
    for (const button of element("thumbs").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", button.id === id);
      button.tabIndex = button.id === id ? 0 : -1;
    }
    const number = drawing, { queries, keys } = grid(), layer = layers()[state.layer];
    const weights = await weightsOf(layer, state.head);
    if (number !== drawing || id !== `head-${state.layer}-${state.head}`) return;
    const max = colorMax(weights);
    describeHead(layer, max);
    canvas.show({ weights, max, queries, keys, image: bitmap(weights, queries.length, keys.length, max) }, state.view);
    element("stage").dataset.head = id; // the head that is drawn now; tests wait for it
  };
  const describeHead = (layer, max) => {
    const { pattern, value, entropy, normalized_entropy: normalized, patterns } = grid().summaries[state.layer][state.head];
    const title = labels().headTitle(state.layer + 1, headName(layer, state.head));
    element("head-name").textContent = title;
    const summary = patterns[pattern] ? labels().patternSummary(labels()[pattern], percent(value)) : labels().summary(pattern, percent(value));
    element("head-fact").textContent = pattern === "fixed" ? summary : `${summary} ${labels().entropy(entropy.toFixed(2), percent(normalized))}`;
    element("axes").textContent = labels().axes(state.role, state.view === "lines");
    element("stage").setAttribute("aria-label", labels().picture(title));
    element("legend-title").textContent = labels().weight;
    element("legend-max").textContent = max === 1 ? "1" : max.toFixed(3);
    element("ramp").style.background = state.view === "lines"
      ? `linear-gradient(to right, transparent, ${css("--accent")})`
      : `linear-gradient(to right, ${colorStops().map((hex) => `#${hex}`).join(", ")})`;
    showPatterns(patterns);
    for (const id of ["smaller", "larger"]) element(id).setAttribute("aria-label", labels()[id]);
    element("save").textContent = labels().save;
  };

  const showPatterns = (patterns) => {
    element("patterns-title").textContent = labels().patternsTitle;
    element("patterns-title").hidden = !Object.keys(patterns).length;
    element("patterns").replaceChildren(...Object.entries(patterns).flatMap(([name, { share, uniform_share: uniform, is_testable: isTestable }]) => {
      const fill = make("span", { class: "fill" }), mark = make("span", { class: "uniform" });
      fill.style.width = `${share * 100}%`;
      mark.style.left = `calc(${uniform * 100}% - 1px)`;
      const comment = make("span", { text: labels().uniform(percent(uniform)) + (isTestable ? "" : labels().untestable) });
      return [make("span", { text: labels()[name] }), make("span", { class: "track", "aria-hidden": true }, fill, mark),
        make("span", { class: "value", text: percent(share) }, comment)];
    }));
  };

  // ── keyboard ──
  const moveBetweenHeads = (event) => {
    if (!ARROWS[event.key] || !hasNoModifier(event) || event.shiftKey) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key], layer = clamp(state.layer + down, 0, layers().length - 1);
    selectHead(layer, clamp(state.head + right, 0, columnCount(layers()[layer]) - 1));
    element(`head-${state.layer}-${state.head}`).focus();
  };
  const moveBetweenTabs = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const roles = example().roles.map(({ role: name }) => name);
    change({ role: roles[(roles.indexOf(state.role) + step + roles.length) % roles.length] });
    element(`tab-${state.role}`).focus();
  };

  const show = () => {
    clampSelection();
    showSentence();
    showTabs();
    showSwitches();
    element("panel").hidden = !example().roles.length;
    if (!example().roles.length) return;
    showThumbs();
    showHead();
  };
  const focusedId = () => (root.activeElement ?? document.activeElement)?.id;
  const change = (update) => {
    const id = focusedId();
    Object.assign(state, update);
    canvas.clearHover();
    show();
    notify();
    if (id && element(id)) element(id).focus(); // the element was created again
  };

  element("example").addEventListener("change", (event) => change({ example: Number(event.target.value) }));
  element("before").addEventListener("click", () => change({ example: state.example - 1 }));
  element("after").addEventListener("click", () => change({ example: state.example + 1 }));
  element("save").addEventListener("click", () => canvas.save(`${state.role}-layer-${state.layer + 1}-head-${state.head + 1}.png`));
  element("tabs").addEventListener("keydown", moveBetweenTabs);
  element("thumbs").addEventListener("keydown", moveBetweenHeads);
  onThemeChange(show);
  restore(saved);
  show();
  return { setLanguage: (next) => change({ language: next }) };
};
