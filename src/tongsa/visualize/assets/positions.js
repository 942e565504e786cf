/** What tells a model where a piece stands: each position's numbers, and how much any two positions are alike. */
import { bitmap } from "./colours.js";
import { clamp, make, onTheme } from "./elements.js";
import { inflated } from "./weights.js";

const MOST = 65534;
const WORDS = {
  en: {
    owners: { encoder: "encoder", decoder: "decoder" },
    kinds: { sinusoidal: "Sinusoids", learned: "Learned positions", rotary: "Turned by position (rotary)" },
    told: {
      sinusoidal: "Each column is a wave over the positions, from quick ones on the left to slow ones on the right. They are added to the vectors of the pieces.",
      learned: "One vector for each position, learnt with the rest and added to the vectors of the pieces.",
      rotary: "Sine and cosine of the angles by which queries and keys are turned in every head; what two of them have in common depends on their distance.",
    },
    table: (positions, width) => `Rows: positions 0 to ${positions - 1} · columns: the ${width} numbers of each`,
    likeness: "Cosine of each two positions: the nearer to the colour of the diagonal, the more alike", cell: (position, place, value) => `Position ${position}, number ${place}: ${value}`,
    pair: (one, other, value) => `Positions ${one} and ${other}: ${value}`,
  },
  ko: {
    owners: { encoder: "인코더", decoder: "디코더" },
    kinds: { sinusoidal: "사인파 위치", learned: "학습된 위치", rotary: "회전 위치(rotary)" },
    told: {
      sinusoidal: "열마다 위치를 따라 물결치며, 왼쪽은 빠르고 오른쪽으로 갈수록 느립니다. 조각의 벡터에 더해집니다.",
      learned: "위치마다 하나씩 함께 학습된 벡터이며, 조각의 벡터에 더해집니다.",
      rotary: "헤드마다 쿼리와 키를 돌리는 각의 사인과 코사인입니다. 둘의 내적은 거리에 따라 달라집니다.",
    },
    table: (positions, width) => `행: 위치 0~${positions - 1} · 열: 위치마다 ${width}개의 수`,
    likeness: "두 위치의 코사인: 대각선의 색에 가까울수록 비슷합니다", cell: (position, place, value) => `위치 ${position}, ${place}번째 수: ${value}`,
    pair: (one, other, value) => `위치 ${one}, ${other}: ${value}`,
  },
};

/** A matrix as a picture; what is under the pointer is told below it. */
const pictured = (name, matrix, rows, columns, caption, told) => {
  const canvas = make("canvas", { role: "img", "aria-label": caption }), text = make("figcaption", { text: caption });
  const figure = make("figure", { class: name }, canvas, text);
  const ready = inflated(matrix.packed).then((numbers) => {
    const values = Float32Array.from(numbers, (one) => one / MOST);
    const paint = () => {
      const image = bitmap(values, rows, columns, 1);
      [canvas.width, canvas.height] = [columns, rows];
      canvas.getContext("2d").drawImage(image, 0, 0);
    };
    canvas.addEventListener("pointermove", (event) => {
      const { left, top } = canvas.getBoundingClientRect(), { clientLeft, clientTop, clientWidth, clientHeight } = canvas;
      const column = clamp(Math.floor(((event.clientX - left - clientLeft) / clientWidth) * columns), 0, columns - 1);
      const row = clamp(Math.floor(((event.clientY - top - clientTop) / clientHeight) * rows), 0, rows - 1);
      text.textContent = told(row, column, ((values[row * columns + column] * 2 - 1) * matrix.most).toFixed(3).replace("-", "−"));
    });
    canvas.addEventListener("pointerleave", () => { text.textContent = caption; });
    paint();
    return paint;
  });
  return { figure, ready };
};

/** Draw into `root` what `page_data` of tongsa.view.positions has told. */
export const draw = (root, data, { language = "en" } = {}) => {
  const plots = make("div", { class: "plots" });
  root.append(plots);
  let painters = [];
  const section = (table, say) => {
    const { positions, width } = table;
    const values = pictured("table", table.values, positions, width, say.table(positions, width), say.cell);
    const likeness = pictured("likeness", table.likeness, positions, positions, say.likeness, say.pair);
    painters.push(values.ready, likeness.ready);
    const owners = table.owners.map((owner) => say.owners[owner] || owner).join(", ");
    return make("section", {}, make("h2", { text: `${say.kinds[table.kind]} · ${owners}` }), make("p", { class: "quiet", text: say.told[table.kind] }), make("div", { class: "pictures" }, values.figure, likeness.figure));
  };
  const speak = (next) => {
    painters = [];
    plots.replaceChildren(...data.tables.map((table) => section(table, WORDS[next])));
  };
  onTheme(async () => { for (const ready of painters) (await ready)(); });
  speak(language);
  return { speak };
};
