/** Attention panel: thumbnails of all layers and heads of a role, and one selected head in full size. */
import { attentionMarkup, patternRows, roleTabs, switchGroups } from "./attention_markup.js";
import { paintThumbs, scrollToPicture } from "./attention_thumbs.js";
import { bitmap, colorGradient } from "./colors.js";
import { $, ARROWS, css, hasNoModifier, make, onThemeChange, rove } from "./dom.js";
import { clamp } from "./format.js";
import { headCanvas } from "./head_canvas.js";
import { columnCount, headFact, headTitle, roleCaption } from "./head_text.js";
import { textRows } from "./texts.js";
import { WORDS } from "./view_words.js";
import { attentionMask, headWeights, maxWeight } from "./weights.js";

/** @typedef {import("./types.d.ts").AttentionResponse} AttentionResponse */
/** @typedef {import("./view_words.js").PanelOptions} PanelOptions */

/** Switch → its values. */
const OPTIONS = { unit: ["tokens", "words"], view: ["heatmap", "lines"], scale: ["fixedScale", "maxScale"] };
/** Numbers of keys: with more than the first, colors fit the maximum; with more than the second, thumbnails are small. */
const [MANY_KEYS, LONG_KEYS] = [24, 40];
const ALL_KEYS = { score: null, before: null, after: null };

/**
 * Draw into `root` (an element or a shadow root) the data of tongsa.visualize.attention.page_data.
 * @param {ShadowRoot | HTMLElement} root
 * @param {AttentionResponse} data
 * @param {PanelOptions} [options]
 * @returns {import("./view_words.js").Panel}
 */
export const draw = (root, data, options = {}) => {
  const { language = "en", saved = {}, onChange = () => {}, sentence = 0, hasHeader = false, signal } = options;
  root.append(...attentionMarkup());
  const element = (id) => $(id, root);
  /** `scale` is null until the reader chooses one. @type {any} */
  const state = {
    example: sentence,
    role: "",
    layer: 0,
    head: 0,
    unit: "tokens",
    view: "heatmap",
    scale: null,
    language,
  };
  /** Number of the current drawing: asynchronous results of earlier ones are discarded. */
  let drawing = 0;

  // ── selection ──
  const words = () => WORDS[state.language].attention;
  const example = () => data.examples[state.example];
  const role = () => /** @type {any} */ (example().roles.find(({ role: name }) => name === state.role));
  const mechanism = () => data.mechanisms[state.role] ?? ALL_KEYS;
  const layers = () => role().layers;
  const columns = () => Math.max(...layers().map((layer) => columnCount(layer.count)));
  const scale = () => state.scale ?? (role().tokens.keys.length > MANY_KEYS ? "maxScale" : "fixedScale");
  const colorMax = (weights) => (scale() === "fixedScale" ? 1 : maxWeight(weights) || 1);
  const weightsOf = (layer, head) => headWeights(role(), layer, head, state.unit, data.quantization_scale);
  const mask = () => attentionMask(role().tokens, state.unit === "words" ? role().words : null, mechanism());
  const readsHops = () =>
    state.role === "cross" &&
    example().roles.some(({ role: name }) => name === "hops") &&
    role().tokens.keys.every((key, i) => key === String(i + 1));
  /** Labels of rows and columns: hops are numbered. */
  const grid = () => {
    const { queries, keys, summaries } = role()[state.unit],
      hops = (labels) => labels.map((_, i) => words().hop(i + 1));
    return {
      rows: state.role === "hops" ? hops(queries) : queries,
      columns: readsHops() ? hops(keys) : keys,
      summaries,
    };
  };
  const nameOf = (layer, head) =>
    data.head_names[state.role]?.[state.unit]?.[layer]?.[head] ?? {
      pattern: grid().summaries[layer][head].pattern,
      count: 1,
      sentences: 1,
    };
  const title = (layer, head) => headTitle(words(), mechanism().score, layers()[layer].count, layer, head);
  const canvas = headCanvas(
    root,
    () => ({
      hint: words().hint,
      masked: (row, column) => (state.role === "decoder" && column > row ? words().masked : words().outside),
    }),
    signal,
  );

  const clampSelection = () => {
    state.example = clamp(state.example || 0, 0, data.examples.length - 1);
    const { roles } = example();
    if (!roles.length) return;
    if (!roles.some(({ role: name }) => name === state.role)) state.role = roles[0].role;
    state.layer = clamp(state.layer || 0, 0, layers().length - 1);
    state.head = clamp(state.head || 0, 0, columnCount(layers()[state.layer].count) - 1);
  };
  const restore = (selection) => {
    for (const key of ["layer", "head"]) state[key] = (parseInt(selection[key], 10) || 1) - 1;
    for (const [key, values] of Object.entries(OPTIONS))
      if (values.includes(selection[key])) state[key] = selection[key];
    state.role = selection.role || "";
  };
  const notify = () => {
    const { role: name, unit, view } = state;
    onChange({ role: name, unit, view, scale: state.scale ?? "", layer: state.layer + 1, head: state.head + 1 });
  };

  // ── texts, tabs, switches ──
  const showTexts = () => {
    element("note").textContent = data.note;
    element("note").hidden = !data.note;
    element("texts").hidden = hasHeader;
    element("texts").replaceChildren(...(hasHeader ? [] : textRows(example(), WORDS[state.language].page)));
  };
  const showTabs = () => {
    element("tabs").setAttribute("aria-label", words().roles);
    const names = example().roles.map(({ role: name }) => name);
    element("tabs").replaceChildren(...roleTabs(words(), names, state.role, (name) => change({ role: name })));
    element("panel").setAttribute("aria-labelledby", `tab-${state.role}`);
    const [caption, equation] = roleCaption(words(), state.role, mechanism(), readsHops());
    element("caption").replaceChildren(caption, " ", make("span", { class: "equation", text: equation }));
  };
  const showSwitches = () => {
    const current = { unit: state.unit, view: state.view, scale: scale() };
    const onChoose = (key, value) => change({ [key]: value });
    element("switches").replaceChildren(...switchGroups(words(), OPTIONS, current, onChoose));
  };

  // ── thumbnails ──
  const showThumbs = () => {
    const count = columns(),
      heads = Math.max(...layers().map((layer) => layer.count)),
      isLong = grid().columns.length > LONG_KEYS;
    const box = element("thumbs"),
      panel = element("panel"),
      isSingle = count === 1 && layers().length === 1;
    box.style.setProperty("--columns", count);
    panel.style.setProperty("--overview", `${clamp(count * (isLong ? 3.25 : 5.5) + 2, 8, 35)}rem`);
    panel.classList.toggle("compact", isLong);
    panel.classList.toggle("single", isSingle);
    element("overview").hidden = isSingle;
    box.setAttribute("aria-label", words().overview);
    const titles = Array.from({ length: count }, (_, i) =>
      make("span", {
        class: "head-number",
        "aria-hidden": true,
        text: count > 1 && i === heads ? words().mean : i + 1,
      }),
    );
    const cells = [make("span"), ...titles],
      queue = [];
    layers().forEach((layer, l) => {
      cells.push(make("span", { class: "layer-number", "aria-hidden": true, text: l + 1 }));
      for (let h = 0; h < count; h++)
        cells.push(h < columnCount(layer.count) ? thumbnail(layer, l, h, queue) : make("span"));
    });
    box.replaceChildren(...cells);
    const number = ++drawing,
      { rows, columns: keys } = grid();
    paintThumbs(
      queue,
      { rows: rows.length, columns: keys.length, mask: mask(), maxOf: colorMax },
      () => number === drawing,
    );
    element("keys-help").textContent = words().keysHelp;
    const naming = element("naming");
    naming.firstElementChild.textContent = words().naming;
    naming.lastElementChild.replaceChildren(
      ...words()
        .explanation(data.thresholds)
        .map((text) => make("p", { text })),
    );
  };
  const thumbnail = (layer, l, h, queue) => {
    const { entropy } = grid().summaries[l][h],
      { pattern, count, sentences } = nameOf(l, h);
    const image = make("canvas", { width: 160, height: 160, "aria-hidden": true });
    const name = words().patterns[pattern],
      counts = sentences > 1 ? words().thumbSentences(count, sentences) : "";
    queue.push({ canvas: image, weights: () => weightsOf(layer, h) });
    return make(
      "button",
      {
        type: "button",
        class: "thumb",
        id: `head-${l}-${h}`,
        title: `${name}${counts}`,
        "aria-label": words().thumb(title(l, h), name, counts, entropy.toFixed(2)),
        click: () => selectHead(l, h, true),
      },
      image,
      make("span", { class: "pattern", text: name }),
      make("span", { class: "number", text: sentences > 1 ? `${count}/${sentences}` : "" }),
    );
  };
  const selectHead = async (layer, head, scrolls = false) => {
    Object.assign(state, { layer, head });
    canvas.clearHover();
    notify();
    await showHead();
    if (scrolls) scrollToPicture(element("overview"), element("detail"), element("stage"));
  };

  // ── the selected head ──
  const showHead = async () => {
    const id = `head-${state.layer}-${state.head}`;
    for (const button of element("thumbs").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", button.id === id);
      button.tabIndex = button.id === id ? 0 : -1;
    }
    const number = drawing,
      { rows, columns: keys } = grid();
    const weights = await weightsOf(layers()[state.layer], state.head);
    if (number !== drawing || id !== `head-${state.layer}-${state.head}`) return;
    const max = colorMax(weights),
      masked = mask();
    describeHead(max, masked !== null);
    const image = bitmap(weights, rows.length, keys.length, max);
    canvas.show({ values: weights, max, rows, columns: keys, mask: masked, image }, state.view);
    element("stage").dataset.head = id; // the head that is drawn now; tests wait for it
  };
  const describeHead = (max, hasMask) => {
    const summary = grid().summaries[state.layer][state.head],
      name = title(state.layer, state.head);
    element("head-name").textContent = name;
    element("head-fact").textContent = headFact(words(), nameOf(state.layer, state.head), summary);
    const [query, key] = words().axes[state.role] ?? words().axes.hops;
    const isLines = state.view === "lines",
      keyName = readsHops() ? words().axes.hops[0] : key;
    element("axes").textContent = isLines
      ? words().leftAndRight(query, keyName)
      : words().rowsAndColumns(query, keyName);
    element("stage").setAttribute("aria-label", words().picture(name));
    element("legend-title").textContent = words().weight;
    element("legend-max").textContent = max === 1 ? "1" : max.toFixed(3);
    element("ramp").style.background = isLines
      ? `linear-gradient(to right, transparent, ${css("--accent")})`
      : colorGradient();
    for (const id of ["hatch", "hatch-label"]) element(id).hidden = !hasMask || isLines;
    element("hatch-label").textContent = words().maskedLegend;
    showPatterns(summary.patterns);
    for (const id of ["smaller", "larger"]) element(id).setAttribute("aria-label", words()[id]);
    for (const id of ["save", "fit"]) element(id).textContent = words()[id];
  };
  const showPatterns = (patterns) => {
    element("patterns-title").textContent = words().patternsTitle;
    element("patterns-title").hidden = !Object.keys(patterns).length;
    element("patterns").replaceChildren(...patternRows(words(), patterns));
  };

  const moveBetweenHeads = (event) => {
    if (!ARROWS[event.key] || !hasNoModifier(event) || event.shiftKey) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key],
      layer = clamp(state.layer + down, 0, layers().length - 1);
    selectHead(layer, clamp(state.head + right, 0, columnCount(layers()[layer].count) - 1));
    element(`head-${state.layer}-${state.head}`).focus();
  };
  const show = () => {
    clampSelection();
    showTexts();
    const isEmpty = !example().roles.length;
    for (const id of ["panel", "caption", "switches"]) element(id).hidden = isEmpty;
    if (isEmpty) return;
    showTabs();
    showSwitches();
    showThumbs();
    showHead();
  };
  const change = (update) => {
    const id = (root instanceof ShadowRoot ? root : document).activeElement?.id;
    Object.assign(state, update);
    canvas.clearHover();
    show();
    notify();
    // the element was created again
    if (id) /** @type {HTMLElement | null} */ (root.querySelector(`#${CSS.escape(id)}`))?.focus();
  };

  const saveImage = () => canvas.save(`${state.role}-layer-${state.layer + 1}-head-${state.head + 1}.png`);
  element("save").addEventListener("click", saveImage, { signal });
  element("thumbs").addEventListener("keydown", moveBetweenHeads, { signal });
  rove(
    element("tabs"),
    () => [...element("tabs").children],
    (tab) => change({ role: tab.id.slice("tab-".length) }),
    signal,
  );
  onThemeChange(show, signal);
  restore(saved);
  show();
  return { setLanguage: (next) => change({ language: next }), setSentence: (index) => change({ example: index }) };
};
