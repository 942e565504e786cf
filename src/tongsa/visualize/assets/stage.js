/** One head, large: drawn, enlarged, pointed at by mouse, finger or keys, saved. */
import { ARROWS, clamp, free, make, onceAFrame } from "./elements.js";
import { heatLayout, heatUnder, paintHeat } from "./heat_map.js";
import { look } from "./lettering.js";
import { lineLayout, lineUnder, paintLines } from "./line_map.js";

const VIEWS = {
  heat: { arranged: heatLayout, paint: paintHeat, under: heatUnder },
  lines: { arranged: lineLayout, paint: paintLines, under: lineUnder },
};

/** `element` finds a part of the frame by its id; `hint` is what is read out where nothing is pointed at. */
export const stageIn = (element, hint) => {
  const stage = element("stage");
  let view = "heat";
  let zoom = 1;
  let pointed = null; // {query, key}; one of them is null where a single word is meant
  let layout = null;
  let chosen = null; // {weights, most, image, queries, keys}

  // ── drawing ──
  const arrange = () => {
    const width = element("detail").clientWidth - 16, height = innerHeight * 0.8; // a scroll bar may need the rest
    layout = VIEWS[view].arranged(chosen, width, height, zoom);
    const sheet = element("sheet");
    sheet.style.width = `${layout.width}px`;
    sheet.style.height = `${layout.height}px`;
    layout.seen = { width: Math.min(stage.clientWidth, layout.width), height: Math.min(stage.clientHeight, layout.height) };
    const canvas = element("picture"), density = devicePixelRatio || 1;
    canvas.width = Math.round(layout.seen.width * density);
    canvas.height = Math.round(layout.seen.height * density);
    canvas.style.width = `${layout.seen.width}px`;
    canvas.style.height = `${layout.seen.height}px`;
    redraw();
    showPointed();
  };
  const redraw = () => {
    if (!chosen || !layout) return;
    const context = element("picture").getContext("2d"), density = devicePixelRatio || 1;
    context.setTransform(density, 0, 0, density, 0, 0);
    paint(context, { x: stage.scrollLeft, y: stage.scrollTop, ...layout.seen });
  };
  const redrawSoon = onceAFrame(redraw);
  const paint = (context, seen) => {
    const now = look();
    context.fillStyle = now.paper;
    context.fillRect(0, 0, seen.width, seen.height);
    context.textBaseline = "middle";
    VIEWS[view].paint(context, seen, { chosen, layout, pointed, look: now });
  };

  // ── pointing, by mouse, finger or keys ──
  const underPointer = (event) => {
    if (!chosen) return null;
    const box = stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    if (x > layout.seen.width || y > layout.seen.height) return null;
    return VIEWS[view].under(x, y, stage, chosen, layout);
  };
  const told = () => {
    const { queries, keys, weights } = chosen, { query, key } = pointed;
    const at = (q, k) => weights[q * keys.length + k];
    if (query !== null && key !== null) return [`${queries[query]} → ${keys[key]}`, at(query, key).toFixed(4)];
    const others = query !== null ? keys.map((text, k) => [text, at(query, k)]) : queries.map((text, q) => [text, at(q, key)]);
    const best = others.sort((a, b) => b[1] - a[1]).slice(0, 4).filter(([, weight]) => weight >= 0.0005);
    const list = best.map(([text, weight]) => `${text} ${weight.toFixed(3)}`).join(", ");
    return query !== null ? [`${queries[query]} → ${list}`, ""] : [`${keys[key]} ← ${list}`, ""];
  };
  const point = (next) => {
    if (JSON.stringify(next) === JSON.stringify(pointed)) return;
    pointed = next;
    redrawSoon();
    showPointed();
  };
  const showPointed = () => {
    const readout = element("readout");
    readout.classList.toggle("quiet", !pointed);
    readout.textContent = pointed ? told().join("  ") : hint();
    if (!pointed) element("tip").hidden = true;
  };
  const showTip = (x, y) => {
    const tip = element("tip");
    tip.hidden = !pointed || view === "lines" || pointed.query === null || pointed.key === null;
    if (tip.hidden) return;
    const [text, weight] = told();
    tip.replaceChildren(make("span", { text }), make("b", { text: weight }));
    const left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${clamp(y + 18, 4, innerHeight - tip.offsetHeight - 4)}px`;
  };

  const stepOnStage = (event) => {
    if (event.key === "Escape" && pointed) { event.preventDefault(); point(null); return; }
    if (!ARROWS[event.key] || !free(event) || !chosen) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key], { queries, keys } = chosen;
    if (view === "heat") {
      const both = pointed && pointed.query !== null && pointed.key !== null;
      const next = both ? { query: pointed.query + down, key: pointed.key + right } : { query: 0, key: 0 };
      point({ query: clamp(next.query, 0, queries.length - 1), key: clamp(next.key, 0, keys.length - 1) });
    } else {
      const onKey = right ? right > 0 : Boolean(pointed) && pointed.key !== null;
      const now = pointed ? pointed.key ?? pointed.query : -1;
      const i = clamp(now + down, 0, (onKey ? keys : queries).length - 1);
      point(onKey ? { query: null, key: i } : { query: i, key: null });
    }
    bringIntoSight();
  };
  const bringIntoSight = () => {
    if (view === "lines") {
      const { step, begin } = layout.rows[pointed.key === null ? "query" : "key"], y = begin + step * (pointed.key ?? pointed.query);
      stage.scrollTop = clamp(stage.scrollTop, y + step - layout.seen.height, y);
      return;
    }
    const { left, top, cell } = layout;
    const y = pointed.query * cell, visible = layout.seen.height - top;
    stage.scrollTop = clamp(stage.scrollTop, y + cell - visible, y);
    const x = pointed.key * cell, across = layout.seen.width - left;
    stage.scrollLeft = clamp(stage.scrollLeft, x + cell - across, x);
    const box = stage.getBoundingClientRect();
    showTip(box.left + left + x - stage.scrollLeft + cell, box.top + top + y - stage.scrollTop + cell);
  };

  const save = (name) => {
    const canvas = document.createElement("canvas");
    const density = Math.min(2, 8192 / Math.max(layout.width, layout.height)); // browsers refuse larger canvases
    canvas.width = Math.round(layout.width * density);
    canvas.height = Math.round(layout.height * density);
    const context = canvas.getContext("2d");
    context.scale(density, density);
    pointed = view === "lines" ? pointed : null;
    paint(context, { x: 0, y: 0, width: layout.width, height: layout.height });
    canvas.toBlob((blob) => {
      const address = URL.createObjectURL(blob);
      make("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
  };

  const enlarge = (factor) => {
    zoom = clamp(zoom * factor, 0.2, 4);
    pointed = null;
    arrange();
  };

  element("smaller").addEventListener("click", () => enlarge(1 / 1.25));
  element("larger").addEventListener("click", () => enlarge(1.25));
  stage.addEventListener("keydown", stepOnStage);
  for (const kind of ["pointermove", "pointerdown"]) {
    stage.addEventListener(kind, (event) => { point(underPointer(event)); showTip(event.clientX, event.clientY); });
  }
  stage.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") point(null); });
  stage.addEventListener("blur", () => point(null));
  stage.addEventListener("scroll", redrawSoon, { passive: true });
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width) return; // height follows from what is drawn
    width = entry.contentRect.width;
    if (chosen) arrange();
  }).observe(element("detail"));
  return {
    show: (next, how) => { chosen = next; view = how; arrange(); },
    forget: () => { pointed = null; },
    save,
  };
};
