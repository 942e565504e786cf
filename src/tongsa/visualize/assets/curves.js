/** Training panel: loss, validation scores, learning rate and gradient norm over the steps of one or several runs. */
import { closestPoint, formatValue, ticks, verticalAxis } from "./axis.js";
import { make, makeSvg, onWidthChange } from "./dom.js";
import { clamp } from "./format.js";
import { WORDS } from "./view_words.js";

/** @typedef {import("./types.d.ts").CurvePanel} CurvePanel */
/** @typedef {import("./types.d.ts").CurveLine} CurveLine */
/** @typedef {typeof import("./view_words_en.js").english.curves} Words */
/** @typedef {"linear" | "log" | "zero" | "range"} Mode */

/** Sizes in CSS pixels: text is never scaled. */
const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM, TICK_WIDTH] = [240, 56, 12, 10, 40, 90];
/** A loss that falls by this factor is shown on a logarithmic axis at first. */
const LOG_RATIO = 4;
/** Points of a curve are marked up to this number. */
const MAX_MARKED = 12;
/** Colors of curves in plots.css. */
const COLORS = 6;

/** Panel → the modes of its vertical axis. @type {Record<string, Mode[]>} */
const MODES = { loss: ["linear", "log"], score: ["zero", "range"], lr: ["linear"], grad_norm: ["linear", "log"] };

/** Return the mode in which a panel is shown at first. @param {CurvePanel} panel @returns {Mode} */
export const initialMode = ({ name, lines }) => {
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value)),
    modes = MODES[name];
  const isWide = Math.min(...values) > 0 && Math.max(...values) > LOG_RATIO * Math.min(...values);
  return modes.includes("log") && isWide ? "log" : modes[0];
};

/**
 * Return the class of a curve: its run's color if there are several runs, otherwise one color per curve.
 * @param {CurveLine} line
 * @param {number} index
 * @param {number} count number of curves
 * @param {number} runs
 */
export const lineClass = ({ key, run }, index, count, runs) => {
  if (runs > 1) return `line-${(run % (COLORS - 1)) + 1}${key === "loss" ? " thin" : ""}`;
  return `line-${count === 1 ? 1 : index % COLORS}`;
};

const plot = (panel, mode, width, runs, /** @type {Words} */ words) => {
  const points = panel.lines.flatMap((line) => line.points),
    last = Math.max(1, ...points.map(([step]) => step));
  const axis = verticalAxis(
    points.map(([, value]) => value),
    mode,
  );
  const x = (step) => LEFT + (step / last) * (width - LEFT - RIGHT);
  const y = (value) => TOP + (1 - axis.share(value)) * (HEIGHT - TOP - BOTTOM);
  const svg = makeSvg("svg", { width, height: HEIGHT, "aria-hidden": true });
  for (const tick of axis.ticks) {
    svg.append(
      makeSvg("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      makeSvg("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end", text: formatValue(tick) }),
    );
  }
  if (axis.isBroken) {
    const bottom = HEIGHT - BOTTOM;
    svg.append(
      makeSvg(
        "path",
        { class: "break", d: `M${LEFT - 5},${bottom + 2}l4,4l2,-6l4,4` },
        makeSvg("title", { text: words.brokenAxis }),
      ),
    );
  }
  for (const tick of ticks(0, last, clamp(Math.floor((width - LEFT) / TICK_WIDTH), 2, 5)).filter(
    (step) => step <= last,
  )) {
    svg.append(
      makeSvg("text", { x: x(tick), y: HEIGHT - 20, "text-anchor": "middle", text: tick.toLocaleString("en") }),
    );
  }
  svg.append(
    makeSvg("text", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 3, "text-anchor": "middle", text: words.step }),
  );
  panel.lines.forEach((line, i) => {
    const style = lineClass(line, i, panel.lines.length, runs),
      places = line.points.map(([step, value]) => [x(step).toFixed(1), y(value).toFixed(1)]);
    svg.append(makeSvg("polyline", { class: style, points: places.map(String).join(" ") }));
    // few points, such as validations, are marked: a single one has no line at all
    if (places.length > MAX_MARKED) return;
    for (const [cx, cy] of places) svg.append(makeSvg("circle", { class: style, cx, cy, r: 3.5 }));
  });
  const cursor = makeSvg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  svg.append(cursor);
  return { svg, cursor, x, last };
};

/**
 * @param {CurvePanel} panel
 * @param {string[]} runs
 * @param {Words} words
 * @param {{mode: Mode, onMode: (mode: Mode) => void, signal: AbortSignal | undefined}} options
 */
const panelSection = (panel, runs, words, { mode, onMode, signal }) => {
  const legend = make("ul", { class: "keys" }),
    picture = make("div", { class: "picture" });
  const section = make("section", { class: "curve", tabindex: 0, "aria-label": `${words[panel.name]}. ${words.hint}` });
  /** @type {ReturnType<typeof plot> | null} */
  let chart = null;
  /** @type {number | null} */
  let hoveredStep = null;
  let width = 0;
  const nameOf = ({ key, run }) => [runs.length > 1 && runs[run], words.names[key] ?? key].filter(Boolean).join(" · ");
  const showValues = () => {
    legend.replaceChildren(
      ...panel.lines.map((line, i) => {
        const [step, value] =
          hoveredStep === null ? line.points[line.points.length - 1] : closestPoint(line.points, hoveredStep);
        const style = lineClass(line, i, panel.lines.length, runs.length);
        const sample = makeSvg(
          "svg",
          { width: 24, height: 8, "aria-hidden": true },
          makeSvg("polyline", { class: style, points: "1,4 23,4" }),
        );
        const at = words.atStep(Math.round(step).toLocaleString("en"));
        return make("li", {}, sample, `${nameOf(line)} `, make("b", { text: formatValue(value) }), ` ${at}`);
      }),
    );
    chart?.cursor.setAttribute("visibility", hoveredStep === null ? "hidden" : "visible");
    if (hoveredStep !== null)
      for (const side of ["x1", "x2"]) chart?.cursor.setAttribute(side, String(chart.x(hoveredStep)));
  };
  const hover = (step) => {
    hoveredStep = step === null || !chart ? null : clamp(step, 0, chart.last);
    showValues();
  };
  const resize = (next) => {
    width = Math.max(200, Math.floor(next));
    chart = plot(panel, mode, width, runs.length, words);
    picture.replaceChildren(chart.svg);
    showValues();
  };
  const modes =
    MODES[panel.name].length > 1
      ? [
          make(
            "div",
            { class: "switch", role: "group", "aria-label": words.axis },
            ...MODES[panel.name].map((value) =>
              make("button", {
                type: "button",
                text: words[value],
                "aria-pressed": value === mode,
                "data-mode": value,
                click: () => onMode(value),
              }),
            ),
          ),
        ]
      : [];
  section.append(
    make("div", { class: "headline" }, make("h2", { text: words[panel.name] }), ...modes),
    legend,
    picture,
  );
  section.addEventListener(
    "pointermove",
    (event) => {
      if (chart)
        hover(((event.clientX - picture.getBoundingClientRect().left - LEFT) / (width - LEFT - RIGHT)) * chart.last);
    },
    { signal },
  );
  section.addEventListener("pointerleave", () => hover(null), { signal });
  section.addEventListener("blur", () => hover(null), { signal });
  section.addEventListener(
    "keydown",
    (event) => {
      const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key],
        last = chart?.last ?? 1;
      if (!direction || event.target !== section) return;
      event.preventDefault();
      hover((hoveredStep ?? (direction > 0 ? 0 : last)) + (direction * last) / 50);
    },
    { signal },
  );
  showValues();
  onWidthChange(picture, resize, signal);
  return section;
};

/**
 * Draw into `root` the data of tongsa.visualize.curves.page_data.
 * @param {ShadowRoot | HTMLElement} root
 * @param {import("./types.d.ts").CurvesResponse} data
 * @param {import("./view_words.js").PanelOptions} [options]
 * @returns {import("./view_words.js").Panel}
 */
export const draw = (root, data, { language = "en", signal } = {}) => {
  const hint = make("p", { class: "hint quiet small" }),
    plots = make("div", { class: "plots curves" });
  root.append(hint, plots);
  let words = WORDS[language].curves;
  const modes = data.panels.map(initialMode);
  /** Removes the listeners and observers of the sections that are replaced. */
  let shown = new AbortController();
  signal?.addEventListener("abort", () => shown.abort(), { once: true });
  const show = () => {
    shown.abort();
    shown = new AbortController();
    hint.textContent = words.hint;
    plots.replaceChildren(
      ...data.panels.map((panel, i) =>
        panelSection(panel, data.runs, words, {
          mode: modes[i],
          signal: shown.signal,
          onMode: (mode) => {
            modes[i] = mode;
            show();
            /** @type {HTMLElement | null} */ (plots.children[i].querySelector(`[data-mode=${mode}]`))?.focus();
          },
        }),
      ),
    );
  };
  show();
  return {
    setLanguage: (next) => {
      words = WORDS[next].curves;
      show();
    },
    setSentence: () => {},
  };
};
