/** How a run learnt: loss, scores, rate and the gradient's length over its steps. */
import { clamp, drawn, make } from "./elements.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 240, 56, 12, 10, 40];
const WORDS = {
  en: {
    loss: "Loss", score: "Score on the validation set", rate: "Learning rate", norm: "Length of the gradient", step: "step", training: "training", dev_loss: "validation",
    hint: "Point at a curve, or focus it and use the arrow keys.", at: (step) => `at step ${step}`,
  },
  ko: {
    loss: "손실", score: "검증 점수", rate: "학습률", norm: "기울기 크기", step: "스텝", training: "학습", dev_loss: "검증",
    hint: "곡선 위에 포인터를 올리거나, 선택한 뒤 화살표 키를 누르세요.", at: (step) => `스텝 ${step}`,
  },
};
const NAMES = { loss: "training", bleu: "BLEU", chrf: "chrF", exact_match: "exact match", macro_f1: "macro F1" };

/** A few round numbers that hold low and high between the first and the last. */
const ticks = (low, high, count = 3) => {
  const raw = (high - low || Math.abs(high) || 1) / count, unit = 10 ** Math.floor(Math.log10(raw));
  const stride = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((one) => one >= raw * 0.999);
  const first = Math.floor(low / stride + 1e-9), last = Math.max(first + 1, Math.ceil(high / stride - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * stride).toPrecision(12)));
};
const shown = (value) => (Math.abs(value) >= 10000 || (value && Math.abs(value) < 0.001) ? value.toExponential(Number.isInteger(Math.log10(Math.abs(value))) ? 0 : 1).replace("e-", "e−") : String(Number(value.toPrecision(4))));
/** The point of a line at a step, or the last before it. */
const nearest = (line, step) => line.reduce((best, point) => (Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best), line[0]);

const plotted = (panel, say) => {
  const lines = Object.entries(panel.lines), points = lines.flatMap(([, line]) => line), last = Math.max(1, ...points.map(([step]) => step));
  const marks = ticks(Math.min(...points.map(([, value]) => value)), Math.max(...points.map(([, value]) => value)));
  const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - marks[0]) / (marks[marks.length - 1] - marks[0])) * (HEIGHT - TOP - BOTTOM);
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": true });
  for (const mark of marks) {
    svg.append(drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(mark), y2: y(mark) }), drawn("text", { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end", text: shown(mark) }));
  }
  for (const mark of ticks(0, last, 5).filter((one) => one <= last)) svg.append(drawn("text", { x: x(mark), y: HEIGHT - 20, "text-anchor": "middle", text: mark.toLocaleString("en") }));
  svg.append(drawn("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 3, "text-anchor": "middle", text: say.step }));
  lines.forEach(([, line], number) => svg.append(drawn("polyline", { class: colour(number, lines.length), points: line.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ") })));
  const cursor = drawn("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  svg.append(cursor);
  return { svg, cursor, x, last, lines };
};
const colour = (number, count) => `line-${count === 1 ? 1 : number}`;

const panelOf = (panel, say) => {
  const { svg, cursor, x, last, lines } = plotted(panel, say);
  const keys = make("ul", { class: "keys" });
  const name = (key) => say[NAMES[key]] || say[key] || NAMES[key] || key;
  let at = null;
  const tell = () => {
    keys.replaceChildren(...lines.map(([key, line], number) => {
      const [step, value] = at === null ? line[line.length - 1] : nearest(line, at);
      const sample = drawn("svg", { viewBox: "0 0 24 8", "aria-hidden": true }, drawn("polyline", { class: colour(number, lines.length), points: "1,4 23,4" }));
      return make("li", {}, sample, `${name(key)} `, make("b", { text: shown(value) }), ` ${say.at(Math.round(step).toLocaleString("en"))}`);
    }));
    cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at !== null) for (const side of ["x1", "x2"]) cursor.setAttribute(side, x(at));
  };
  const point = (step) => { at = step === null ? null : clamp(step, 0, last); tell(); };
  const box = make("section", { class: "curve", tabindex: 0, "aria-label": `${say[panel.name]}. ${say.hint}` }, make("h2", { text: say[panel.name] }), keys, svg);
  box.addEventListener("pointermove", (event) => {
    const { left, width } = svg.getBoundingClientRect();
    point((((event.clientX - left) / width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * last);
  });
  box.addEventListener("pointerleave", () => point(null));
  box.addEventListener("blur", () => point(null));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -last / 50, ArrowRight: last / 50 }[event.key];
    if (!step) return;
    event.preventDefault();
    point((at ?? (step > 0 ? 0 : last)) + step);
  });
  tell();
  return box;
};

/** Draw into `root` what `page_data` of tongsa.view.curves has told. */
export const draw = (root, data, { language = "en" } = {}) => {
  const plots = make("div", { class: "plots curves" });
  root.append(plots);
  const speak = (next) => plots.replaceChildren(...data.panels.map((panel) => panelOf(panel, WORDS[next])), make("p", { class: "quiet", text: WORDS[next].hint }));
  speak(language);
  return { speak };
};
