/** A beam search, looked into: what each step kept, what it pruned and by how much. */
import { clamp, drawn, make, SPACE } from "./elements.js";
import { probability, signed } from "./figures.js";
import { treeWords } from "./search_tree_words.js";

const [TOP, ROW, HIGH, SMALL, BETWEEN, LEFT] = [34, 52, 42, 22, 34, 16];

const frame = () => [
  make("dl", { id: "texts" }),
  make("p", { id: "rule", class: "quiet" }),
  make("section", { "aria-labelledby": "tree-title" },
    make("div", { class: "headline" }, make("h2", { id: "tree-title" }), make("ul", { id: "marks", class: "small" })),
    make("div", { id: "readout", role: "status" }),
    make("div", { id: "stage", tabindex: 0, role: "application" }, make("div", { id: "sheet" })),
    make("p", { id: "hint", class: "quiet small" })),
  make("section", { "aria-labelledby": "stop-title" }, make("h2", { id: "stop-title" }), make("p", { id: "stop" })),
  make("section", { "aria-labelledby": "finished-title" },
    make("h2", { id: "finished-title" }), make("div", { class: "scroller" }, make("table", { id: "finished" }))),
];

/**
 * Draw into `root` (an element or a shadow root) what `page_data` of tongsa.view.search_tree has told.
 * Returns what the page around may do: change the language.
 */
export const draw = (root, data, { language: first = "en", chosen: recalled = {}, changed = () => {} } = {}) => {
  root.append(...frame());
  const element = (id) => root.querySelector(`#${id}`);
  const words = treeWords(data);
  let language = first;
  const say = () => words[language];

  // ── the tree: every candidate knows its step, its place and where it came from ──
  const ROOT = { step: -1, place: 0, kind: "root", children: [], before: null };
  data.steps.forEach((step, number) => {
    for (const kind of ["kept", "pruned"]) {
      step[kind].forEach((one, place) => {
        const before = one.parent === null ? ROOT : data.steps[number - 1].kept[one.parent];
        Object.assign(one, { step: number, place, kind, children: [], before });
        if (kind === "kept") before.children.push(one);
      });
    }
  });
  const pathTo = (one) => (one ? [...pathTo(one.before), one] : []);
  const finished = data.finished.map(([step, place]) => data.steps[step].kept[place]);
  const best = finished[0];
  const won = new Set(pathTo(best));
  const last = data.steps.length - 1;
  const leading = new Set(); // what ended or still lived, and all before it
  for (const one of [...finished, ...data.steps[last].kept]) for (const each of pathTo(one)) leading.add(each);

  // ── where everything stands ──
  const units = (text) => Array.from(text).reduce((sum, one) => sum + (one.codePointAt(0) >= 0x1100 && one !== SPACE ? 2 : 1), 0);
  const rows = Math.max(...data.steps.map((step) => step.kept.length));
  const small = Math.max(...data.steps.map((step) => step.pruned.length));
  const more = data.steps.some((step) => step.others);
  const cutAt = TOP + rows * ROW + 4;
  const height = cutAt + (small || more ? 14 + small * SMALL + (more ? 20 : 0) : 0) + 8;
  const columns = [{ left: LEFT, width: 44 }];
  for (const step of data.steps) {
    const { left, width } = columns[columns.length - 1];
    const needed = Math.max(...step.kept.map((one) => units(one.piece) * 8.6 + 24), ...step.pruned.map((one) => units(one.piece) * 7.4 + 60));
    columns.push({ left: left + width + BETWEEN, width: clamp(needed, 80, 190) });
  }
  const width = columns[columns.length - 1].left + columns[columns.length - 1].width + LEFT;
  const box = (one) => {
    const { left, width } = columns[one.step + 1];
    if (one.kind === "pruned") return { left, width, top: cutAt + 12 + one.place * SMALL, height: SMALL - 2 };
    return { left, width, top: TOP + one.place * ROW, height: HIGH };
  };
  const curve = (one) => {
    const from = box(one.before), to = box(one);
    const [x, y, u, v] = [from.left + from.width, from.top + from.height / 2, to.left, to.top + to.height / 2];
    return `M${x},${y}C${x + BETWEEN / 2},${y} ${u - BETWEEN / 2},${v} ${u},${v}`;
  };

  // ── building blocks ──
  const svg = drawn("svg", { id: "edges", "aria-hidden": true });
  const stand = (made, { left, top, width, height }) => {
    Object.assign(made.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
    if (height) made.style.height = `${height}px`;
    return made;
  };
  const pieceOf = (one) => {
    const marked = one.piece.startsWith(SPACE) && one.piece.length > 1;
    return make("span", { class: "piece", dir: "auto" }, ...(marked ? [make("span", { class: "mark", text: SPACE })] : []), marked ? one.piece.slice(1) : one.piece);
  };

  // ── the picture ──
  const nodes = new Map(); // candidate → its element
  const edges = new Map();
  const owners = new WeakMap();
  let lost;
  const classOf = (one) => {
    if (one.kind === "pruned") return "pruned";
    return [one.ended && "ended", won.has(one) && "won", !leading.has(one) && "dead"].filter(Boolean).join(" ");
  };
  const node = (one) => {
    const made = stand(make("div", { class: `node ${one.kind === "root" ? "root won" : classOf(one)}` }), box(one));
    if (one.kind === "root") made.textContent = "<s>";
    else if (one.kind === "pruned") made.append(pieceOf(one), make("span", { class: "gap", text: signed(-one.gap, Math.abs(one.gap) < 0.01 ? 3 : 2) }));
    else {
      const bar = make("span", { class: "bar" });
      bar.style.width = `${100 * Math.exp(one.log)}%`;
      made.append(pieceOf(one), make("span", { class: "chance", text: one.ended ? signed(one.score) : probability(one.log) }), bar);
    }
    nodes.set(one, made);
    owners.set(made, one);
    return made;
  };
  const show = () => {
    const sheet = element("sheet");
    Object.assign(sheet.style, { width: `${width}px`, height: `${height}px` });
    for (const [name, value] of Object.entries({ width, height })) svg.setAttribute(name, value);
    const every = data.steps.flatMap((step) => step.kept);
    every.sort((one, other) => won.has(one) - won.has(other)); // the best path is drawn over the others
    for (const one of every) {
      edges.set(one, drawn("path", { d: curve(one), class: classOf(one) }));
      svg.append(edges.get(one));
    }
    lost = drawn("path", { class: "lost" });
    svg.append(lost);
    const numbers = data.steps.map((_, number) => stand(make("div", { class: "number", text: number + 1 }), { ...columns[number + 1], top: 8 }));
    const parts = [svg, ...numbers, node(ROOT), ...data.steps.flatMap((step) => [...step.kept, ...step.pruned].map(node))];
    if (small || more) {
      const line = make("div", { id: "cut" });
      line.style.top = `${cutAt}px`;
      const name = make("div", { id: "cut-name" });
      name.style.top = `${cutAt + 6}px`;
      parts.push(line, name);
    }
    data.steps.forEach((step, number) => {
      if (step.others) parts.push(stand(make("div", { class: "others", "data-more": step.others }), { ...columns[number + 1], top: cutAt + 14 + step.pruned.length * SMALL }));
    });
    sheet.replaceChildren(...parts);
  };

  // ── what is looked at ──
  let selected = best, hovered = null;
  let lit = [];
  const look = () => {
    const one = hovered || selected;
    for (const made of lit) made.classList.remove("on", "here");
    const path = pathTo(one);
    lit = path.flatMap((each) => [nodes.get(each), edges.get(each)]).filter(Boolean);
    for (const made of lit) made.classList.add("on");
    nodes.get(one).classList.add("here");
    svg.classList.toggle("looking", one !== best);
    lost.setAttribute("d", one.kind === "pruned" ? curve(one) : "");
    lost.classList.toggle("on", one.kind === "pruned");
    element("readout").replaceChildren(...told(one));
  };
  const fact = (name, value) => make("span", {}, `${name} `, make("b", { text: value }));
  const told = (one) => {
    if (one.kind === "root") return [make("div", { class: "prefix", text: "<s>" }), make("div", { class: "facts", text: say().root })];
    const facts = [fact(say().chance, `${probability(one.log)} (log ${signed(one.log)})`), fact(say().total, signed(one.total))];
    if (Math.abs(one.merit - one.total) > 1e-4) facts.push(fact(say().merit, signed(one.merit)));
    const covering = one.ended && Math.abs(one.score - one.merit / one.penalty) > 1e-4;
    const parts = `${signed(one.merit)} / ${one.penalty.toFixed(3)}${covering ? ` − ${signed(one.merit / one.penalty - one.score)}` : ""}`;
    facts.push(fact(say().score, `${signed(one.score)} = ${parts}`));
    const count = data.steps[one.step].kept.length;
    facts.push(make("span", { text: one.kind === "pruned" ? say().gap(one.gap) : say().rank(one.place + 1, count, one.step + 1) }));
    const ending = one.ended ? " </s>" : "";
    return [make("div", { class: "prefix" }, make("bdi", { text: one.text || (ending ? say().empty : one.piece) }), make("span", { class: "new", text: ending })), make("div", { class: "facts" }, ...facts)];
  };
  const select = (one) => {
    selected = one;
    hovered = null;
    look();
    remember();
  };
  const reveal = (one) => {
    const stage = element("stage"), { left, width } = box(one);
    const margin = Math.min(80, stage.clientWidth / 4);
    if (left - margin < stage.scrollLeft) stage.scrollLeft = left - margin;
    else if (left + width + margin > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = left + width + margin - stage.clientWidth;
  };
  const around = (one) => (one.kind === "root" ? [one] : [...data.steps[one.step].kept, ...data.steps[one.step].pruned]);
  const MOVES = {
    ArrowLeft: (one) => one.before,
    ArrowRight: (one) => one.children.find((each) => won.has(each)) || one.children.find((each) => leading.has(each)) || one.children[0],
    ArrowUp: (one) => around(one)[around(one).indexOf(one) - 1],
    ArrowDown: (one) => around(one)[around(one).indexOf(one) + 1],
    Home: () => ROOT,
    End: () => best,
  };
  element("stage").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !MOVES[event.key]) return;
    event.preventDefault();
    const next = MOVES[event.key](selected);
    if (next) {
      select(next);
      reveal(next);
    }
  });
  const under = (event) => owners.get(event.target.closest && event.target.closest(".node")) || null;
  element("sheet").addEventListener("pointerover", (event) => {
    const one = event.pointerType === "touch" ? null : under(event);
    if (one === hovered) return;
    hovered = one;
    look();
  });
  element("sheet").addEventListener("pointerleave", () => {
    if (hovered) {
      hovered = null;
      look();
    }
  });
  element("sheet").addEventListener("click", (event) => {
    const one = under(event);
    if (one) select(one);
  });

  // ── the rest of the page ──
  const showWords = () => {
    const notes = [data.cut && say().cut, data.groups > 1 && say().groups].filter(Boolean).join(" ");
    const texts = [["source", data.text], ["translation", data.translation || say().empty], ["note", notes]];
    element("texts").replaceChildren(...texts.filter(([, text]) => text).flatMap(([name, text]) =>
      [make("dt", { text: say()[name] }), make("dd", { class: name, text, dir: "auto" })]));
    element("rule").textContent = say().rule + (data.coverage ? say().covered : "");
    element("tree-title").textContent = say().tree;
    element("marks").replaceChildren(...Object.entries(say().marks).map(([kind, text]) =>
      make("li", {}, make("i", { class: kind, "aria-hidden": "true", text: kind === "pruned" ? "−0.42" : "" }), text)));
    element("hint").textContent = say().hint;
    element("stage").setAttribute("aria-label", say().stage);
    if (element("cut-name")) element("cut-name").textContent = say().pruned;
    for (const made of root.querySelectorAll(".others")) {
      made.textContent = say().more(Number(made.dataset.more));
      made.title = say().moreTitle(Number(made.dataset.more));
    }
    element("stop-title").textContent = say().stopTitle;
    element("stop").textContent = say().reason[data.reason](signed(best.score), data.bound === null ? "" : signed(data.bound));
    element("finished-title").textContent = say().finishedTitle;
    showFinished();
  };
  const showFinished = () => {
    const head = make("tr", {}, ...say().head.map((text, at) => make("th", { scope: "col", class: at === 1 ? "output" : "", text })));
    const lines = finished.map((one, at) => {
      const button = make("button", { type: "button", dir: "auto", text: one.text || say().empty });
      button.addEventListener("click", () => { select(one); reveal(one); });
      const figures = [one.step + 1, signed(one.total), one.penalty.toFixed(3), signed(one.score)];
      return make("tr", { class: at ? "" : "won" }, make("td", { text: at + 1 }), make("td", { class: "output" }, button), ...figures.map((text) => make("td", { text })));
    });
    element("finished").replaceChildren(make("caption", { class: "quiet small", text: say().lengthNote }), make("thead", {}, head), make("tbody", {}, ...lines));
  };
  const remember = () => changed({ step: selected.step + 1, kind: selected.kind, place: selected.place + 1 });
  const recall = (kept) => {
    const step = data.steps[kept.step - 1], kind = kept.kind === "pruned" ? "pruned" : "kept";
    selected = (step && step[kind][kept.place - 1]) || best;
  };

  recall(recalled);
  show();
  showWords();
  look();
  if (selected !== best) reveal(selected);
  return {
    speak: (next) => {
      language = next;
      showWords();
      look();
    },
  };
};
