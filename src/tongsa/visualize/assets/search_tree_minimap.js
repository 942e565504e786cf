/** Overview of a search tree that is wider than the window: all steps on one strip, with the visible part framed. */
import { $, css, hasNoModifier, onThemeChange } from "./dom.js";
import { clamp } from "./format.js";
import { stepsInView } from "./search_tree_data.js";

/** @typedef {import("./search_tree_data.js").TreeModel} TreeModel */

/** Height of the strip in CSS pixels. */
const HEIGHT = 44;
/** Share of the visible width that an arrow key moves by. */
const KEY_STEP = 0.25;

/**
 * Frame of the visible part, as shares of the whole width.
 * @param {{scrollLeft: number, clientWidth: number, scrollWidth: number}} stage
 */
export const visibleFrame = ({ scrollLeft, clientWidth, scrollWidth }) => ({
  left: scrollLeft / scrollWidth,
  width: Math.min(1, clientWidth / scrollWidth),
});

/**
 * Scroll position that a key moves to; null for other keys.
 * @param {string} key
 * @param {{scrollLeft: number, clientWidth: number, scrollWidth: number}} stage
 */
export const scrollByKey = (key, { scrollLeft, clientWidth, scrollWidth }) => {
  /** @type {Record<string, number>} */
  const targets = {
    ArrowLeft: scrollLeft - KEY_STEP * clientWidth,
    ArrowRight: scrollLeft + KEY_STEP * clientWidth,
    PageUp: scrollLeft - clientWidth,
    PageDown: scrollLeft + clientWidth,
    Home: 0,
    End: scrollWidth,
  };
  return key in targets ? clamp(targets[key], 0, scrollWidth - clientWidth) : null;
};

/**
 * Draw all nodes, and a line of the best path.
 * @param {HTMLCanvasElement} canvas
 * @param {TreeModel} model
 */
const paint = (canvas, { start, columns, bestPath, layout }) => {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")),
    density = devicePixelRatio || 1,
    width = canvas.clientWidth;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(HEIGHT * density);
  const [x, y] = [canvas.width / layout.width, canvas.height / layout.height];
  /** @param {any} color @param {(node: any) => boolean} isShown */
  const boxes = (color, isShown) => {
    context.fillStyle = color;
    for (const node of [[start], ...columns].flat().filter(isShown)) {
      const box = layout.box(node);
      context.fillRect(box.left * x, box.top * y, Math.max(1, box.width * x), Math.max(1, box.height * y));
    }
  };
  boxes(css("--rule"), ({ lane }) => lane === "pruned");
  boxes(css("--edge"), ({ lane }) => lane === "alive");
  boxes(css("--good"), ({ lane }) => lane === "finished");
  boxes(css("--accent"), (node) => bestPath.has(node));
};

/**
 * @param {ShadowRoot | HTMLElement} root
 * @param {TreeModel} model
 * @param {() => any} words
 * @param {AbortSignal} signal
 */
export const treeMinimap = (root, model, words, signal) => {
  const strip = $("minimap", root),
    canvas = /** @type {HTMLCanvasElement} */ (strip.querySelector("canvas")),
    frame = /** @type {HTMLElement} */ (strip.querySelector(".frame")),
    stage = $("stage", root);

  /** Follow the scrolling; hidden where the whole tree is visible. */
  const show = () => {
    strip.hidden = stage.scrollWidth <= stage.clientWidth + 1;
    if (strip.hidden) return;
    if (canvas.clientWidth && Math.round(canvas.clientWidth * (devicePixelRatio || 1)) !== canvas.width)
      paint(canvas, model);
    const { left, width } = visibleFrame(stage),
      range = stage.scrollWidth - stage.clientWidth;
    frame.style.left = `${100 * left}%`;
    frame.style.width = `${100 * width}%`;
    strip.setAttribute("aria-label", words().minimap);
    strip.setAttribute("aria-valuenow", String(Math.round((100 * stage.scrollLeft) / range)));
    const [first, last] = stepsInView(model.layout.columns, stage.scrollLeft, stage.clientWidth);
    strip.setAttribute("aria-valuetext", words().stepsOf(first, last, model.columns.length));
  };
  /** Where in the frame the pointer took it; null without a pressed pointer. @type {number | null} */
  let grip = null;
  /** @param {PointerEvent} event */
  const shareAt = (event) => {
    const { left, width } = strip.getBoundingClientRect();
    return (event.clientX - left) / width;
  };
  /** @param {PointerEvent} event */
  const drag = (event) => {
    if (grip !== null) stage.scrollLeft = (shareAt(event) - grip) * stage.scrollWidth;
  };
  /** @param {PointerEvent} event */
  const press = (event) => {
    if (event.button) return;
    const { left, width } = visibleFrame(stage),
      offset = shareAt(event) - left;
    grip = offset >= 0 && offset <= width ? offset : width / 2; // outside the frame: it comes to the pointer
    strip.setPointerCapture(event.pointerId);
    drag(event);
  };
  const release = () => {
    grip = null;
  };
  strip.addEventListener("pointerdown", press, { signal });
  strip.addEventListener("pointermove", drag, { signal });
  for (const type of ["pointerup", "pointercancel"]) strip.addEventListener(type, release, { signal });
  strip.addEventListener(
    "keydown",
    (/** @type {KeyboardEvent} */ event) => {
      const left = hasNoModifier(event) ? scrollByKey(event.key, stage) : null;
      if (left === null) return;
      event.preventDefault();
      stage.scrollLeft = left;
    },
    { signal },
  );
  onThemeChange(() => {
    canvas.width = 0;
    show();
  }, signal);
  canvas.width = 0; // another tree is to be painted
  return { show };
};
