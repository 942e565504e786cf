/** Thumbnails of all layers and heads of a role. */
import { paintThumbs } from "./attention_thumbs.js";
import { $, make } from "./dom.js";
import { clamp } from "./format.js";
import { columnCount } from "./head_text.js";

/** @typedef {import("./attention_selection.js").Selection} Selection */

/** With more keys than this, thumbnails are small. */
const LONG_KEYS = 40;

/** Fit the columns of the panel to the number of heads. @param {(id: string) => any} element @param {Selection} shown */
const layOut = (element, { columns, layers, grid }) => {
  const count = columns(),
    isLong = grid().columns.length > LONG_KEYS,
    isSingle = count === 1 && layers().length === 1,
    panel = element("panel");
  element("thumbs").style.setProperty("--columns", count);
  panel.style.setProperty("--overview", `${clamp(count * (isLong ? 3.25 : 5.5) + 2, 8, 35)}rem`);
  panel.classList.toggle("compact", isLong);
  panel.classList.toggle("single", isSingle);
  element("overview").hidden = isSingle;
};

/** @param {Selection} shown @param {number} layer @param {number} head @param {() => void} select */
const thumbnail = ({ words, grid, nameOf, title }, layer, head, select) => {
  const { entropy } = grid().summaries[layer][head],
    { pattern, count, sentences } = nameOf(layer, head);
  const canvas = make("canvas", { width: 160, height: 160, "aria-hidden": true });
  const name = words().patterns[pattern],
    counts = sentences > 1 ? words().thumbSentences(count, sentences) : "";
  const attributes = {
    type: "button",
    class: "thumb",
    id: `head-${layer}-${head}`,
    title: `${name}${counts}`,
    "aria-label": words().thumb(title(layer, head), name, counts, entropy.toFixed(2)),
    click: select,
  };
  const button = make(
    "button",
    attributes,
    canvas,
    make("span", { class: "pattern", text: name }),
    make("span", { class: "number", text: sentences > 1 ? `${count}/${sentences}` : "" }),
  );
  return { button, canvas };
};

/** Explain how heads are named. @param {(id: string) => any} element @param {Selection} shown */
const showHelp = (element, { words, data }) => {
  element("keys-help").textContent = words().keysHelp;
  const naming = element("naming");
  naming.firstElementChild.textContent = words().naming;
  naming.lastElementChild.replaceChildren(
    ...words()
      .explanation(data.thresholds)
      .map((text) => make("p", { text })),
  );
};

/**
 * Show the thumbnails; they are painted until `isCurrent` returns false.
 * @param {ShadowRoot | HTMLElement} root
 * @param {Selection} shown
 * @param {(layer: number, head: number) => void} select
 * @param {() => boolean} isCurrent
 */
export const showThumbs = (root, shown, select, isCurrent) => {
  const element = (id) => $(id, root),
    { words, layers, columns, grid, weightsOf, mask, colorMax } = shown,
    count = columns(),
    heads = Math.max(...layers().map((layer) => layer.count));
  layOut(element, shown);
  element("thumbs").setAttribute("aria-label", words().overview);
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
    for (let h = 0; h < count; h++) {
      if (h >= columnCount(layer.count)) {
        cells.push(make("span"));
        continue;
      }
      const { button, canvas } = thumbnail(shown, l, h, () => select(l, h));
      cells.push(button);
      queue.push({ canvas, weights: () => weightsOf(layer, h) });
    }
  });
  element("thumbs").replaceChildren(...cells);
  const { rows, columns: keys } = grid();
  paintThumbs(queue, { rows: rows.length, columns: keys.length, mask: mask(), maxOf: colorMax }, isCurrent);
  showHelp(element, shown);
};

/** Mark the thumbnail of the selected head. @param {ShadowRoot | HTMLElement} root @param {string} id */
export const markThumb = (root, id) => {
  for (const button of $("thumbs", root).querySelectorAll("button")) {
    button.setAttribute("aria-pressed", button.id === id);
    button.tabIndex = button.id === id ? 0 : -1;
  }
};
