/** Search tree panel: the candidates that each step of the beam search kept and pruned. */
import { hasNoModifier, make, makeSvg } from "./dom.js";
import { clamp, probability, signed, SPACE } from "./format.js";
import { searchTreeLabels } from "./search_tree_labels.js";

const [TOP, ROW_HEIGHT, NODE_HEIGHT, PRUNED_HEIGHT, COLUMN_GAP, MARGIN] = [34, 52, 42, 22, 34, 16];

const markup = () => [
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

/** Link the candidates to a tree: add step, rank, status, parent node and children to each. Returns the root. */
const linkTree = (steps) => {
  const root = { step: -1, rank: 0, status: "root", children: [], parentNode: null };
  steps.forEach((step, number) => {
    for (const status of ["kept", "pruned"]) {
      step[status].forEach((candidate, rank) => {
        const parentNode = candidate.parent === null ? root : steps[number - 1].kept[candidate.parent];
        Object.assign(candidate, { step: number, rank, status, children: [], parentNode });
        if (status === "kept") parentNode.children.push(candidate);
      });
    }
  });
  return root;
};
const pathTo = (candidate) => (candidate ? [...pathTo(candidate.parentNode), candidate] : []);

/** Positions and sizes: a column for each step, kept candidates above a line, pruned ones below it. */
const treeLayout = (steps) => {
  const units = (text) => Array.from(text).reduce((sum, character) => sum + (character.codePointAt(0) >= 0x1100 && character !== SPACE ? 2 : 1), 0);
  const rows = Math.max(...steps.map((step) => step.kept.length));
  const prunedRows = Math.max(...steps.map((step) => step.pruned.length));
  const hasMore = steps.some((step) => step.more_pruned);
  const hasPruned = Boolean(prunedRows || hasMore);
  const pruneLine = TOP + rows * ROW_HEIGHT + 4;
  const height = pruneLine + (hasPruned ? 14 + prunedRows * PRUNED_HEIGHT + (hasMore ? 20 : 0) : 0) + 8;
  const columns = [{ left: MARGIN, width: 44 }];
  for (const step of steps) {
    const { left, width } = columns[columns.length - 1];
    const needed = Math.max(...step.kept.map(({ token }) => units(token) * 8.6 + 24), ...step.pruned.map(({ token }) => units(token) * 7.4 + 60));
    columns.push({ left: left + width + COLUMN_GAP, width: clamp(needed, 80, 190) });
  }
  const lastColumn = columns[columns.length - 1];
  const box = ({ step, rank, status }) => {
    const { left, width } = columns[step + 1];
    if (status === "pruned") return { left, width, top: pruneLine + 12 + rank * PRUNED_HEIGHT, height: PRUNED_HEIGHT - 2 };
    return { left, width, top: TOP + rank * ROW_HEIGHT, height: NODE_HEIGHT };
  };
  return { columns, box, pruneLine, hasPruned, width: lastColumn.left + lastColumn.width + MARGIN, height };
};

const placeAt = (element, { left, top, width, height }) => {
  Object.assign(element.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
  if (height) element.style.height = `${height}px`;
  return element;
};
const tokenElement = ({ token }) => {
  const hasMark = token.startsWith(SPACE) && token.length > 1;
  return make("span", { class: "token", dir: "auto" }, ...(hasMark ? [make("span", { class: "mark", text: SPACE })] : []), hasMark ? token.slice(1) : token);
};

/**
 * Draw into `root` (an element or a shadow root) the data of tongsa.visualize.search_tree.page_data.
 * `saved` is an earlier selection, `onChange` receives each new one. Returns `setLanguage`.
 */
export const draw = (root, data, { language: initialLanguage = "en", saved = {}, onChange = () => {} } = {}) => {
  root.append(...markup());
  const element = (id) => root.querySelector(`#${id}`);
  const allLabels = searchTreeLabels(data);
  let language = initialLanguage;
  const labels = () => allLabels[language];

  const { steps } = data;
  const start = linkTree(steps);
  const finished = data.finished.map(([step, rank]) => steps[step].kept[rank]);
  const best = finished[0];
  const bestPath = new Set(pathTo(best));
  const survivors = new Set([...finished, ...steps[steps.length - 1].kept].flatMap(pathTo)); // with all their prefixes
  const { columns, box, pruneLine, hasPruned, width, height } = treeLayout(steps);
  const edgePath = (candidate) => {
    const from = box(candidate.parentNode), to = box(candidate);
    const [x1, y1, x2, y2] = [from.left + from.width, from.top + from.height / 2, to.left, to.top + to.height / 2];
    return `M${x1},${y1}C${x1 + COLUMN_GAP / 2},${y1} ${x2 - COLUMN_GAP / 2},${y2} ${x2},${y2}`;
  };

  // ── drawing ──
  const svg = makeSvg("svg", { id: "edges", "aria-hidden": true });
  const prunedEdge = makeSvg("path", { class: "lost" });
  const nodes = new Map(); // candidate → its element
  const edges = new Map(); // candidate → the path from its parent
  const candidates = new WeakMap(); // element → its candidate
  const classOf = (candidate) => {
    if (candidate.status === "root") return "root best";
    if (candidate.status === "pruned") return "pruned";
    return [candidate.is_finished && "finished", bestPath.has(candidate) && "best", !survivors.has(candidate) && "dead"].filter(Boolean).join(" ");
  };
  const drawNode = (candidate) => {
    const node = placeAt(make("div", { class: `node ${classOf(candidate)}` }), box(candidate));
    if (candidate.status === "root") node.textContent = "<s>";
    else if (candidate.status === "pruned") node.append(tokenElement(candidate), make("span", { class: "gap", text: signed(-candidate.gap, Math.abs(candidate.gap) < 0.01 ? 3 : 2) }));
    else {
      const bar = make("span", { class: "bar" });
      bar.style.width = `${100 * Math.exp(candidate.token_log_prob)}%`;
      node.append(tokenElement(candidate), make("span", { class: "probability", text: candidate.is_finished ? signed(candidate.score) : probability(candidate.token_log_prob) }), bar);
    }
    nodes.set(candidate, node);
    candidates.set(node, candidate);
    return node;
  };
  const drawEdges = () => {
    for (const [name, value] of Object.entries({ width, height })) svg.setAttribute(name, value);
    const kept = steps.flatMap((step) => step.kept);
    kept.sort((a, b) => bestPath.has(a) - bestPath.has(b)); // the best path is drawn on top
    for (const candidate of kept) {
      edges.set(candidate, makeSvg("path", { d: edgePath(candidate), class: classOf(candidate) }));
      svg.append(edges.get(candidate));
    }
    svg.append(prunedEdge);
  };
  const drawTree = () => {
    const sheet = element("sheet");
    Object.assign(sheet.style, { width: `${width}px`, height: `${height}px` });
    drawEdges();
    const numbers = steps.map((_, i) => placeAt(make("div", { class: "number", text: i + 1 }), { ...columns[i + 1], top: 8 }));
    const parts = [svg, ...numbers, drawNode(start), ...steps.flatMap((step) => [...step.kept, ...step.pruned].map(drawNode))];
    if (hasPruned) {
      const line = make("div", { id: "prune-line" }), label = make("div", { id: "prune-label" });
      line.style.top = `${pruneLine}px`;
      label.style.top = `${pruneLine + 6}px`;
      parts.push(line, label);
    }
    steps.forEach((step, i) => {
      if (step.more_pruned) parts.push(placeAt(make("div", { class: "more", "data-count": step.more_pruned }), { ...columns[i + 1], top: pruneLine + 14 + step.pruned.length * PRUNED_HEIGHT }));
    });
    sheet.replaceChildren(...parts);
  };

  // ── selection ──
  let selected = best, hovered = null;
  let highlighted = [];
  const highlight = () => {
    const candidate = hovered || selected;
    for (const part of highlighted) part.classList.remove("on", "here");
    highlighted = pathTo(candidate).flatMap((ancestor) => [nodes.get(ancestor), edges.get(ancestor)]).filter(Boolean);
    for (const part of highlighted) part.classList.add("on");
    nodes.get(candidate).classList.add("here");
    svg.classList.toggle("dimmed", candidate !== best);
    prunedEdge.setAttribute("d", candidate.status === "pruned" ? edgePath(candidate) : "");
    prunedEdge.classList.toggle("on", candidate.status === "pruned");
    element("readout").replaceChildren(...description(candidate));
  };
  const fact = (name, value) => make("span", {}, `${name} `, make("b", { text: value }));
  const scoreFormula = ({ ranking_score: rankingScore, length_penalty: penalty, score, is_finished: isFinished }) => {
    const coverage = rankingScore / penalty - score; // only finished outputs have a coverage penalty
    const suffix = isFinished && Math.abs(coverage) > 1e-4 ? ` − ${signed(coverage)}` : "";
    return `${signed(score)} = ${signed(rankingScore)} / ${penalty.toFixed(3)}${suffix}`;
  };
  const description = (candidate) => {
    if (candidate.status === "root") return [make("div", { class: "prefix", text: "<s>" }), make("div", { class: "facts", text: labels().root })];
    const { step, rank, status, gap, text, token, token_log_prob: tokenLogProb, log_prob: logProb, ranking_score: rankingScore } = candidate;
    const facts = [fact(labels().tokenProbability, `${probability(tokenLogProb)} (log ${signed(tokenLogProb)})`), fact(labels().logProb, signed(logProb))];
    if (Math.abs(rankingScore - logProb) > 1e-4) facts.push(fact(labels().rankingScore, signed(rankingScore)));
    facts.push(fact(labels().score, scoreFormula(candidate)));
    facts.push(make("span", { text: status === "pruned" ? labels().gap(gap) : labels().rank(rank + 1, steps[step].kept.length, step + 1) }));
    const ending = candidate.is_finished ? " </s>" : "";
    return [make("div", { class: "prefix" }, make("bdi", { text: text || (ending ? labels().empty : token) }), make("span", { class: "new", text: ending })), make("div", { class: "facts" }, ...facts)];
  };
  const select = (candidate) => {
    selected = candidate;
    hovered = null;
    highlight();
    onChange({ step: selected.step + 1, status: selected.status, rank: selected.rank + 1 });
  };
  const scrollTo = (candidate) => {
    const stage = element("stage"), { left, width: nodeWidth } = box(candidate);
    const margin = Math.min(80, stage.clientWidth / 4);
    if (left - margin < stage.scrollLeft) stage.scrollLeft = left - margin;
    else if (left + nodeWidth + margin > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = left + nodeWidth + margin - stage.clientWidth;
  };
  const siblings = ({ step, status }) => (status === "root" ? [start] : [...steps[step].kept, ...steps[step].pruned]);
  const sibling = (candidate, offset) => siblings(candidate)[siblings(candidate).indexOf(candidate) + offset];
  const MOVES = {
    ArrowLeft: (candidate) => candidate.parentNode,
    ArrowRight: ({ children }) => children.find((child) => bestPath.has(child)) || children.find((child) => survivors.has(child)) || children[0],
    ArrowUp: (candidate) => sibling(candidate, -1),
    ArrowDown: (candidate) => sibling(candidate, 1),
    Home: () => start,
    End: () => best,
  };
  element("stage").addEventListener("keydown", (event) => {
    if (!hasNoModifier(event) || !MOVES[event.key]) return;
    event.preventDefault();
    const next = MOVES[event.key](selected);
    if (next) {
      select(next);
      scrollTo(next);
    }
  });
  const hover = (candidate) => {
    if (candidate === hovered) return;
    hovered = candidate;
    highlight();
  };
  const candidateAt = (event) => candidates.get(event.target.closest && event.target.closest(".node")) || null;
  element("sheet").addEventListener("pointerover", (event) => hover(event.pointerType === "touch" ? null : candidateAt(event)));
  element("sheet").addEventListener("pointerleave", () => hover(null));
  element("sheet").addEventListener("click", (event) => {
    const candidate = candidateAt(event);
    if (candidate) select(candidate);
  });

  // ── texts and the table of finished outputs ──
  const showTexts = () => {
    const notes = [data.truncated && labels().truncated, data.beam_groups > 1 && labels().beamGroups].filter(Boolean).join(" ");
    const texts = [["source", data.text], ["translation", data.translation || labels().empty], ["note", notes]];
    element("texts").replaceChildren(...texts.filter(([, text]) => text).flatMap(([name, text]) =>
      [make("dt", { text: labels()[name] }), make("dd", { class: name, text, dir: "auto" })]));
    element("rule").textContent = labels().rule + (data.coverage_penalty ? labels().coverage : "");
    element("tree-title").textContent = labels().tree;
    element("marks").replaceChildren(...Object.entries(labels().marks).map(([style, text]) =>
      make("li", {}, make("i", { class: style, "aria-hidden": "true", text: style === "pruned" ? "−0.42" : "" }), text)));
    element("hint").textContent = labels().hint;
    element("stage").setAttribute("aria-label", labels().stage);
    if (hasPruned) element("prune-label").textContent = labels().pruned;
    for (const more of root.querySelectorAll(".more")) {
      more.textContent = labels().more(Number(more.dataset.count));
      more.title = labels().moreTitle(Number(more.dataset.count));
    }
    element("stop-title").textContent = labels().stopTitle;
    element("stop").textContent = labels().stopReason[data.stop_reason](signed(best.score), data.score_bound === null ? "" : signed(data.score_bound));
    element("finished-title").textContent = labels().finishedTitle;
    showFinished();
  };
  const showFinished = () => {
    const header = make("tr", {}, ...labels().columns.map((text, i) => make("th", { scope: "col", class: i === 1 ? "output" : "", text })));
    const rows = finished.map((output, i) => {
      const button = make("button", { type: "button", dir: "auto", text: output.text || labels().empty, click: () => { select(output); scrollTo(output); } });
      const numbers = [output.step + 1, signed(output.log_prob), output.length_penalty.toFixed(3), signed(output.score)];
      return make("tr", { class: i ? "" : "best" }, make("td", { text: i + 1 }), make("td", { class: "output" }, button), ...numbers.map((text) => make("td", { text })));
    });
    element("finished").replaceChildren(make("caption", { class: "quiet small", text: labels().lengthNote + (finished.length > data.beam ? labels().comparedNote : "") }), make("thead", {}, header), make("tbody", {}, ...rows));
  };
  const restore = ({ step, status, rank }) => {
    const candidatesOfStep = steps[step - 1]?.[status === "pruned" ? "pruned" : "kept"];
    selected = candidatesOfStep?.[rank - 1] || best;
  };

  restore(saved);
  drawTree();
  showTexts();
  highlight();
  if (selected !== best) scrollTo(selected);
  return {
    setLanguage: (next) => {
      language = next;
      showTexts();
      highlight();
    },
  };
};
