/** Positions panel: the values of the positional encodings, and the cosine similarity of each pair of positions. */
import { bitmap } from "./colors.js";
import { make, onThemeChange } from "./dom.js";
import { clamp } from "./format.js";
import { unpackUint16 } from "./weights.js";

const PACKED_MAX = 65534; // packed values run from 0 (−max_abs) to this (max_abs)
const LABELS = {
  en: {
    usedBy: { encoder: "encoder", decoder: "decoder" },
    kinds: { sinusoidal: "Sinusoids", learned: "Learned positions", rotary: "Rotary positions" },
    explanation: {
      sinusoidal: "Each column is a wave over the positions: high frequencies on the left, low frequencies on the right. The rows are added to the token embeddings.",
      learned: "One trained vector for each position. It is added to the token embeddings.",
      rotary: "Sine and cosine of the angles by which queries and keys are rotated in each head. The dot product of a query and a key then depends on their distance.",
    },
    table: (positions, width) => `Rows: positions 0 to ${positions - 1} · columns: the ${width} dimensions`,
    similarity: "Cosine similarity of each pair of positions: the closer to the color of the diagonal, the more similar",
    cell: (position, dimension, value) => `Position ${position}, dimension ${dimension}: ${value}`,
    pair: (first, second, value) => `Positions ${first} and ${second}: ${value}`,
  },
  ko: {
    usedBy: { encoder: "인코더", decoder: "디코더" },
    kinds: { sinusoidal: "사인파 위치 인코딩", learned: "학습된 위치 임베딩", rotary: "회전 위치 임베딩(RoPE)" },
    explanation: {
      sinusoidal: "열마다 위치에 따른 사인파이며, 왼쪽은 주파수가 높고 오른쪽으로 갈수록 낮습니다. 각 행을 토큰 임베딩에 더합니다.",
      learned: "위치마다 학습된 벡터가 하나씩 있고, 이를 토큰 임베딩에 더합니다.",
      rotary: "헤드마다 쿼리와 키를 회전하는 각도의 사인과 코사인입니다. 그래서 쿼리와 키의 내적이 둘 사이의 거리에 따라 달라집니다.",
    },
    table: (positions, width) => `행: 위치 0~${positions - 1} · 열: ${width}개 차원`,
    similarity: "두 위치의 코사인 유사도: 대각선의 색에 가까울수록 비슷합니다",
    cell: (position, dimension, value) => `위치 ${position}, 차원 ${dimension}: ${value}`,
    pair: (first, second, value) => `위치 ${first}, ${second}: ${value}`,
  },
};

/** A matrix as an image; the caption shows the value under the pointer. */
const matrixFigure = (style, matrix, rows, columns, caption, describe) => {
  const canvas = make("canvas", { role: "img", "aria-label": caption }), text = make("figcaption", { text: caption });
  const figure = make("figure", { class: style }, canvas, text);
  const ready = unpackUint16(matrix.packed).then((numbers) => {
    const values = Float32Array.from(numbers, (number) => number / PACKED_MAX);
    const paint = () => {
      const image = bitmap(values, rows, columns, 1);
      [canvas.width, canvas.height] = [columns, rows];
      canvas.getContext("2d").drawImage(image, 0, 0);
    };
    canvas.addEventListener("pointermove", (event) => {
      const { left, top } = canvas.getBoundingClientRect(), { clientLeft, clientTop, clientWidth, clientHeight } = canvas;
      const column = clamp(Math.floor(((event.clientX - left - clientLeft) / clientWidth) * columns), 0, columns - 1);
      const row = clamp(Math.floor(((event.clientY - top - clientTop) / clientHeight) * rows), 0, rows - 1);
      text.textContent = describe(row, column, ((values[row * columns + column] * 2 - 1) * matrix.max_abs).toFixed(3).replace("-", "−"));
    });
    canvas.addEventListener("pointerleave", () => { text.textContent = caption; });
    paint();
    return paint;
  });
  return { figure, ready };
};

/** Draw into `root` the data of tongsa.visualize.positions.page_data. */
export const draw = (root, data, { language = "en" } = {}) => {
  const plots = make("div", { class: "plots" });
  root.append(plots);
  let painters = [];
  const section = (table, labels) => {
    const { positions, width } = table;
    const values = matrixFigure("table", table.values, positions, width, labels.table(positions, width), labels.cell);
    const similarity = matrixFigure("similarity", table.cosine_similarity, positions, positions, labels.similarity, labels.pair);
    painters.push(values.ready, similarity.ready);
    const users = table.used_by.map((part) => labels.usedBy[part] || part).join(", ");
    return make("section", {}, make("h2", { text: `${labels.kinds[table.kind]} · ${users}` }), make("p", { class: "quiet", text: labels.explanation[table.kind] }), make("div", { class: "pictures" }, values.figure, similarity.figure));
  };
  const setLanguage = (next) => {
    painters = [];
    plots.replaceChildren(...data.tables.map((table) => section(table, LABELS[next])));
  };
  onThemeChange(async () => { for (const ready of painters) (await ready)(); });
  setLanguage(language);
  return { setLanguage };
};
