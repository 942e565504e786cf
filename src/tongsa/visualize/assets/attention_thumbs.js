/** Thumbnails of heads, painted a few in each frame, so that the page stays responsive. */
import { themeColors } from "./canvas_text.js";
import { bitmap } from "./colors.js";
import { paintMask } from "./heatmap.js";
import { maxPool, poolMask } from "./weights.js";

/** Rows and columns of the largest thumbnail. */
const MAX_CELLS = 96;
/** Distance of the lines of a hatch; a thumbnail is shown at about half the size of its canvas. */
const HATCH_STEP = 12;
/** Time to paint thumbnails within one animation frame. */
const PAINT_BUDGET_MS = 8;

/**
 * Paint one head into the canvas of its thumbnail.
 * @param {HTMLCanvasElement} canvas
 * @param {Float32Array} weights
 * @param {number} rows
 * @param {number} columns
 * @param {Uint8Array | null} mask
 * @param {number} max
 */
const paintThumb = (canvas, weights, rows, columns, mask, max) => {
  const [pooled, r, c] = maxPool(weights, rows, columns, MAX_CELLS);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingEnabled = false;
  context.drawImage(bitmap(pooled, r, c, max), 0, 0, canvas.width, canvas.height);
  if (!mask) return;
  const area = {
    x: (column) => (column * canvas.width) / c,
    y: (row) => (row * canvas.height) / r,
    firstRow: 0,
    lastRow: r,
    firstColumn: 0,
    lastColumn: c,
  };
  paintMask(context, area, poolMask(mask, rows, columns, r, c), c, themeColors(), HATCH_STEP);
};

/**
 * Paint thumbnails until `isCurrent` returns false.
 * @param {{canvas: HTMLCanvasElement, weights: () => Promise<Float32Array>}[]} thumbs
 * @param {{rows: number, columns: number, mask: Uint8Array | null, maxOf: (weights: Float32Array) => number}} grid
 * @param {() => boolean} isCurrent
 */
export const paintThumbs = async (thumbs, { rows, columns, mask, maxOf }, isCurrent) => {
  let deadline = performance.now() + PAINT_BUDGET_MS;
  for (const { canvas, weights } of thumbs) {
    const values = await weights();
    if (performance.now() > deadline) {
      // the rest follows in the next frames
      await new Promise(requestAnimationFrame);
      deadline = performance.now() + PAINT_BUDGET_MS;
    }
    if (!isCurrent()) return;
    paintThumb(canvas, values, rows, columns, mask, maxOf(values));
  }
};

/**
 * On a narrow screen the picture is below the thumbnails: scroll to it if less than half of it is visible.
 * @param {HTMLElement} overview the thumbnails
 * @param {HTMLElement} detail title and picture
 * @param {HTMLElement} picture
 */
export const scrollToPicture = (overview, detail, picture) => {
  const isBelow = detail.getBoundingClientRect().top >= overview.getBoundingClientRect().bottom,
    { top, bottom } = picture.getBoundingClientRect();
  if (isBelow && (top + bottom) / 2 > innerHeight) detail.scrollIntoView({ block: "start" });
};
