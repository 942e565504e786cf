/** Attention panel: thumbnails of all layers and heads of a role, and one selected head in full size. */
import { describeHead } from "./attention_detail.js";
import { attentionMarkup, roleTabs, switchGroups } from "./attention_markup.js";
import { markThumb, showThumbs } from "./attention_overview.js";
import { attentionSelection, OPTIONS } from "./attention_selection.js";
import { scrollToPicture } from "./attention_thumbs.js";
import { bitmap } from "./colors.js";
import { $, ARROWS, hasNoModifier, make, onThemeChange, rove } from "./dom.js";
import { clamp } from "./format.js";
import { headCanvas } from "./head_canvas.js";
import { columnCount, roleCaption } from "./head_text.js";
import { textRows } from "./texts.js";
import { WORDS } from "./view_words.js";

/** @typedef {import("./types.d.ts").AttentionResponse} AttentionResponse */
/** @typedef {import("./attention_selection.js").Selection} Selection */
/** @typedef {import("./view_words.js").PanelOptions} PanelOptions */

/**
 * Show what stands above the pictures: texts, roles, switches.
 * @param {ShadowRoot | HTMLElement} root
 * @param {Selection} shown
 * @param {boolean} hasHeader the page shows the texts itself
 * @param {(update: object) => void} change
 */
const showHeader = (root, { data, state, words, example, mechanism, scale, readsHops }, hasHeader, change) => {
  const element = (id) => $(id, root),
    names = example().roles.map(({ role }) => role);
  element("note").textContent = data.note;
  element("note").hidden = !data.note;
  element("texts").hidden = hasHeader;
  element("texts").replaceChildren(...(hasHeader ? [] : textRows(example(), WORDS[state.language].page)));
  for (const id of ["panel", "caption", "switches"]) element(id).hidden = !names.length;
  if (!names.length) return;
  element("tabs").setAttribute("aria-label", words().roles);
  element("tabs").replaceChildren(...roleTabs(words(), names, state.role, (role) => change({ role })));
  element("panel").setAttribute("aria-labelledby", `tab-${state.role}`);
  const [caption, equation] = roleCaption(words(), state.role, mechanism(), readsHops());
  element("caption").replaceChildren(caption, " ", make("span", { class: "equation", text: equation }));
  const current = { unit: state.unit, view: state.view, scale: scale() };
  const groups = switchGroups(words(), OPTIONS, current, (key, value) => change({ [key]: value }));
  element("switches").replaceChildren(...groups);
};

/** The picture of the selected head. @param {ShadowRoot | HTMLElement} root @param {Selection} shown */
const createPicture = (root, { state, words }, signal) => {
  const maskedText = (row, column) => (state.role === "decoder" && column > row ? words().masked : words().outside);
  return headCanvas(root, () => ({ hint: words().hint, masked: maskedText }), signal);
};

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
  const shown = attentionSelection(data, language, sentence, saved),
    { state, layers, grid, headId } = shown,
    canvas = createPicture(root, shown, signal);
  /** Number of the current drawing: asynchronous results of earlier ones are discarded. */
  let drawing = 0;

  const showHead = async () => {
    const id = headId(),
      number = drawing,
      { rows, columns } = grid();
    markThumb(root, id);
    const weights = await shown.weightsOf(layers()[state.layer], state.head);
    if (number !== drawing || id !== headId()) return;
    const max = shown.colorMax(weights),
      mask = shown.mask();
    describeHead(root, shown, max, mask !== null);
    const image = bitmap(weights, rows.length, columns.length, max);
    canvas.show({ values: weights, max, rows, columns, mask, image }, state.view);
    $("stage", root).dataset.head = id; // the head that is drawn now; tests wait for it
  };
  const selectHead = async (layer, head) => {
    Object.assign(state, { layer, head });
    canvas.clearHover();
    onChange(shown.saved());
    await showHead();
  };
  const selectAndScroll = async (layer, head) => {
    await selectHead(layer, head);
    scrollToPicture($("overview", root), $("detail", root), $("stage", root));
  };
  const show = () => {
    shown.clampSelection();
    showHeader(root, shown, hasHeader, change);
    if (!shown.example().roles.length) return;
    const number = ++drawing;
    showThumbs(root, shown, selectAndScroll, () => number === drawing);
    showHead();
  };
  const change = (update) => {
    const id = (root instanceof ShadowRoot ? root : document).activeElement?.id;
    Object.assign(state, update);
    canvas.clearHover();
    show();
    onChange(shown.saved());
    // the element was created again
    if (id) /** @type {HTMLElement | null} */ (root.querySelector(`#${CSS.escape(id)}`))?.focus();
  };
  listen(root, shown, { canvas, selectHead, change }, signal);
  onThemeChange(show, signal);
  show();
  return { setLanguage: (next) => change({ language: next }), setSentence: (index) => change({ example: index }) };
};

/**
 * Listen to the keys of the thumbnails and of the tabs, and to the button that saves the picture.
 * @param {ShadowRoot | HTMLElement} root
 * @param {Selection} shown
 * @param {{canvas: any, selectHead: (layer: number, head: number) => void, change: (update: object) => void}} actions
 * @param {AbortSignal | undefined} signal
 */
const listen = (root, { state, layers, headId }, { canvas, selectHead, change }, signal) => {
  const moveBetweenHeads = (event) => {
    if (!ARROWS[event.key] || !hasNoModifier(event) || event.shiftKey) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key],
      layer = clamp(state.layer + down, 0, layers().length - 1);
    selectHead(layer, clamp(state.head + right, 0, columnCount(layers()[layer].count) - 1));
    $(headId(), root).focus();
  };
  const saveImage = () => canvas.save(`${state.role}-layer-${state.layer + 1}-head-${state.head + 1}.png`);
  const tabs = $("tabs", root);
  $("save", root).addEventListener("click", saveImage, { signal });
  $("thumbs", root).addEventListener("keydown", moveBetweenHeads, { signal });
  rove(
    tabs,
    () => [...tabs.children],
    (tab) => change({ role: tab.id.slice("tab-".length) }),
    signal,
  );
};
