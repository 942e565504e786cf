/** Canvas of the selected head: drawing, zoom, hover by mouse, touch or keys, saving as an image. */
import { lineTokenAt, linesLayout, paintLines } from "./attention_lines.js";
import { themeColors } from "./canvas_text.js";
import { ARROWS, hasNoModifier, make, oncePerFrame } from "./dom.js";
import { clamp } from "./format.js";
import { heatmapCellAt, heatmapLayout, paintHeatmap } from "./heatmap.js";

const VIEWS = {
  heatmap: { layoutOf: heatmapLayout, paint: paintHeatmap, tokensAt: heatmapCellAt },
  lines: { layoutOf: linesLayout, paint: paintLines, tokensAt: lineTokenAt },
};

/** `element` returns an element by its id; `hint` returns the text that is shown while nothing is hovered. */
export const headCanvas = (element, hint) => {
  const stage = element("stage");
  let view = "heatmap";
  let zoom = 1;
  let hovered = null; // {query, key}; one of them is null if only a row or a column is hovered
  let layout = null;
  let head = null; // {weights, max, image, queries, keys}

  // ── drawing ──
  const resize = () => {
    const width = element("detail").clientWidth - 16, height = innerHeight * 0.8; // leaves space for a scroll bar
    layout = VIEWS[view].layoutOf(head, width, height, zoom);
    const sheet = element("sheet");
    sheet.style.width = `${layout.width}px`;
    sheet.style.height = `${layout.height}px`;
    layout.visible = { width: Math.min(stage.clientWidth, layout.width), height: Math.min(stage.clientHeight, layout.height) };
    const canvas = element("picture"), density = devicePixelRatio || 1;
    canvas.width = Math.round(layout.visible.width * density);
    canvas.height = Math.round(layout.visible.height * density);
    canvas.style.width = `${layout.visible.width}px`;
    canvas.style.height = `${layout.visible.height}px`;
    redraw();
    showHovered();
  };
  const redraw = () => {
    if (!head || !layout) return;
    const context = element("picture").getContext("2d"), density = devicePixelRatio || 1;
    context.setTransform(density, 0, 0, density, 0, 0);
    paint(context, { x: stage.scrollLeft, y: stage.scrollTop, ...layout.visible });
  };
  const scheduleRedraw = oncePerFrame(redraw);
  const paint = (context, viewport) => {
    const theme = themeColors();
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, viewport.width, viewport.height);
    context.textBaseline = "middle";
    VIEWS[view].paint(context, viewport, { head, layout, hovered, theme });
  };

  // ── hover by mouse, touch or keys ──
  const tokensUnderPointer = (event) => {
    if (!head) return null;
    const box = stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    if (x > layout.visible.width || y > layout.visible.height) return null;
    return VIEWS[view].tokensAt(x, y, stage, head, layout);
  };
  const hoveredText = () => {
    const { queries, keys, weights } = head, { query, key } = hovered;
    const weightAt = (q, k) => weights[q * keys.length + k];
    if (query !== null && key !== null) return [`${queries[query]} → ${keys[key]}`, weightAt(query, key).toFixed(4)];
    const pairs = query !== null ? keys.map((text, k) => [text, weightAt(query, k)]) : queries.map((text, q) => [text, weightAt(q, key)]);
    const largest = pairs.sort((a, b) => b[1] - a[1]).slice(0, 4).filter(([, weight]) => weight >= 0.0005);
    const list = largest.map(([text, weight]) => `${text} ${weight.toFixed(3)}`).join(", ");
    return query !== null ? [`${queries[query]} → ${list}`, ""] : [`${keys[key]} ← ${list}`, ""];
  };
  const hover = (next) => {
    if (JSON.stringify(next) === JSON.stringify(hovered)) return;
    hovered = next;
    scheduleRedraw();
    showHovered();
  };
  const showHovered = () => {
    const readout = element("readout");
    readout.classList.toggle("quiet", !hovered);
    readout.textContent = hovered ? hoveredText().join("  ") : hint();
    if (!hovered) element("tip").hidden = true;
  };
  const showTooltip = (x, y) => {
    const tip = element("tip");
    tip.hidden = !hovered || view === "lines" || hovered.query === null || hovered.key === null;
    if (tip.hidden) return;
    const [text, weight] = hoveredText();
    tip.replaceChildren(make("span", { text }), make("b", { text: weight }));
    const left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${clamp(y + 18, 4, innerHeight - tip.offsetHeight - 4)}px`;
  };

  const moveByKey = (event) => {
    if (event.key === "Escape" && hovered) { event.preventDefault(); hover(null); return; }
    if (!ARROWS[event.key] || !hasNoModifier(event) || !head) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key], { queries, keys } = head;
    if (view === "heatmap") {
      const isCell = hovered && hovered.query !== null && hovered.key !== null;
      const next = isCell ? { query: hovered.query + down, key: hovered.key + right } : { query: 0, key: 0 };
      hover({ query: clamp(next.query, 0, queries.length - 1), key: clamp(next.key, 0, keys.length - 1) });
    } else {
      const onKey = right ? right > 0 : Boolean(hovered) && hovered.key !== null;
      const current = hovered ? hovered.key ?? hovered.query : -1;
      const i = clamp(current + down, 0, (onKey ? keys : queries).length - 1);
      hover(onKey ? { query: null, key: i } : { query: i, key: null });
    }
    scrollToHovered();
  };
  const scrollToHovered = () => {
    if (view === "lines") {
      const { step, start } = layout.rows[hovered.key === null ? "query" : "key"], y = start + step * (hovered.key ?? hovered.query);
      stage.scrollTop = clamp(stage.scrollTop, y + step - layout.visible.height, y);
      return;
    }
    const { left, top, cell } = layout;
    const y = hovered.query * cell, visibleHeight = layout.visible.height - top;
    stage.scrollTop = clamp(stage.scrollTop, y + cell - visibleHeight, y);
    const x = hovered.key * cell, visibleWidth = layout.visible.width - left;
    stage.scrollLeft = clamp(stage.scrollLeft, x + cell - visibleWidth, x);
    const box = stage.getBoundingClientRect();
    showTooltip(box.left + left + x - stage.scrollLeft + cell, box.top + top + y - stage.scrollTop + cell);
  };

  const save = (name) => {
    const canvas = document.createElement("canvas");
    const density = Math.min(2, 8192 / Math.max(layout.width, layout.height)); // browsers limit the size of a canvas
    canvas.width = Math.round(layout.width * density);
    canvas.height = Math.round(layout.height * density);
    const context = canvas.getContext("2d");
    context.scale(density, density);
    hovered = view === "lines" ? hovered : null;
    paint(context, { x: 0, y: 0, width: layout.width, height: layout.height });
    canvas.toBlob((blob) => {
      const url = URL.createObjectURL(blob);
      make("a", { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
  };

  const zoomBy = (factor) => {
    zoom = clamp(zoom * factor, 0.2, 4);
    hovered = null;
    resize();
  };

  element("smaller").addEventListener("click", () => zoomBy(1 / 1.25));
  element("larger").addEventListener("click", () => zoomBy(1.25));
  stage.addEventListener("keydown", moveByKey);
  for (const kind of ["pointermove", "pointerdown"]) {
    stage.addEventListener(kind, (event) => { hover(tokensUnderPointer(event)); showTooltip(event.clientX, event.clientY); });
  }
  stage.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hover(null); });
  stage.addEventListener("blur", () => hover(null));
  stage.addEventListener("scroll", scheduleRedraw, { passive: true });
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width) return; // the height depends on the drawing itself
    width = entry.contentRect.width;
    if (head) resize();
  }).observe(element("detail"));
  return {
    show: (nextHead, nextView) => { head = nextHead; view = nextView; resize(); },
    clearHover: () => { hovered = null; },
    save,
  };
};
