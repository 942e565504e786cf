/** Training panel: loss, validation scores, learning rate and gradient norm over the steps of a run. */
import { make, makeSvg } from "./dom.js";
import { clamp } from "./format.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 240, 56, 12, 10, 40];
const LABELS = {
  en: {
    loss: "Loss", score: "Validation score", lr: "Learning rate", grad_norm: "Gradient norm", step: "step", training: "training", dev_loss: "validation",
    hint: "Point at a curve, or focus it and use the arrow keys.", atStep: (step) => `at step ${step}`,
  },
  ko: {
    loss: "손실", score: "검증 점수", lr: "학습률", grad_norm: "그래디언트 노름", step: "스텝", training: "학습", dev_loss: "검증",
    hint: "곡선 위에 포인터를 올리거나, 곡선을 선택한 뒤 화살표 키를 누르세요.", atStep: (step) => `스텝 ${step}`,
  },
};
const CURVE_NAMES = { loss: "training", bleu: "BLEU", chrf: "chrF", exact_match: "exact match", macro_f1: "macro F1" };

/** A few round numbers; low and high lie between the first and the last. */
const ticks = (low, high, count = 3) => {
  const raw = (high - low || Math.abs(high) || 1) / count, unit = 10 ** Math.floor(Math.log10(raw));
  const stride = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((size) => size >= raw * 0.999);
  const first = Math.floor(low / stride + 1e-9), last = Math.max(first + 1, Math.ceil(high / stride - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * stride).toPrecision(12)));
};
const formatValue = (value) => {
  const size = Math.abs(value);
  if (size < 10000 && (!value || size >= 0.001)) return String(Number(value.toPrecision(4)));
  return value.toExponential(Number.isInteger(Math.log10(size)) ? 0 : 1).replace("e-", "e−");
};
/** The point of a curve that is closest to a step. */
const closestPoint = (curve, step) => curve.reduce((best, point) => (Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best), curve[0]);
const colorClass = (index, count) => `line-${count === 1 ? 1 : index}`;

const plot = (panel, labels) => {
  const curves = Object.entries(panel.lines), points = curves.flatMap(([, curve]) => curve), last = Math.max(1, ...points.map(([step]) => step));
  const yTicks = ticks(Math.min(...points.map(([, value]) => value)), Math.max(...points.map(([, value]) => value)));
  const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - yTicks[0]) / (yTicks[yTicks.length - 1] - yTicks[0])) * (HEIGHT - TOP - BOTTOM);
  const svg = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": true });
  for (const tick of yTicks) {
    svg.append(makeSvg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }), makeSvg("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end", text: formatValue(tick) }));
  }
  for (const tick of ticks(0, last, 5).filter((step) => step <= last)) svg.append(makeSvg("text", { x: x(tick), y: HEIGHT - 20, "text-anchor": "middle", text: tick.toLocaleString("en") }));
  svg.append(makeSvg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 3, "text-anchor": "middle", text: labels.step }));
  curves.forEach(([, curve], i) => svg.append(makeSvg("polyline", { class: colorClass(i, curves.length), points: curve.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ") })));
  const cursor = makeSvg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  svg.append(cursor);
  return { svg, cursor, x, last, curves };
};

const panelSection = (panel, labels) => {
  const { svg, cursor, x, last, curves } = plot(panel, labels);
  const legend = make("ul", { class: "keys" });
  const curveName = (key) => labels[CURVE_NAMES[key]] || labels[key] || CURVE_NAMES[key] || key;
  let hoveredStep = null;
  const showValues = () => {
    legend.replaceChildren(...curves.map(([key, curve], i) => {
      const [step, value] = hoveredStep === null ? curve[curve.length - 1] : closestPoint(curve, hoveredStep);
      const sample = makeSvg("svg", { viewBox: "0 0 24 8", "aria-hidden": true }, makeSvg("polyline", { class: colorClass(i, curves.length), points: "1,4 23,4" }));
      return make("li", {}, sample, `${curveName(key)} `, make("b", { text: formatValue(value) }), ` ${labels.atStep(Math.round(step).toLocaleString("en"))}`);
    }));
    cursor.setAttribute("visibility", hoveredStep === null ? "hidden" : "visible");
    if (hoveredStep !== null) for (const side of ["x1", "x2"]) cursor.setAttribute(side, x(hoveredStep));
  };
  const hover = (step) => { hoveredStep = step === null ? null : clamp(step, 0, last); showValues(); };
  const section = make("section", { class: "curve", tabindex: 0, "aria-label": `${labels[panel.name]}. ${labels.hint}` }, make("h2", { text: labels[panel.name] }), legend, svg);
  section.addEventListener("pointermove", (event) => {
    const { left, width } = svg.getBoundingClientRect();
    hover((((event.clientX - left) / width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * last);
  });
  section.addEventListener("pointerleave", () => hover(null));
  section.addEventListener("blur", () => hover(null));
  section.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -last / 50, ArrowRight: last / 50 }[event.key];
    if (!step) return;
    event.preventDefault();
    hover((hoveredStep ?? (step > 0 ? 0 : last)) + step);
  });
  showValues();
  return section;
};

/** Draw into `root` the data of tongsa.visualize.curves.page_data. */
export const draw = (root, data, { language = "en" } = {}) => {
  const plots = make("div", { class: "plots curves" });
  root.append(plots);
  const setLanguage = (next) => plots.replaceChildren(...data.panels.map((panel) => panelSection(panel, LABELS[next])), make("p", { class: "quiet", text: LABELS[next].hint }));
  setLanguage(language);
  return { setLanguage };
};
