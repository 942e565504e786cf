"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const SPACE = "▁";
  const signed = (value, digits = 3) => {
    const text = Math.abs(value).toFixed(digits);
    return value < 0 && Number(text) ? `−${text}` : text;
  };
  const percent = (share) => {
    const hundred = share * 100;
    if (hundred < 0.1) return "<0.1%";
    return hundred >= 99.95 ? "100%" : hundred < 10 || hundred > 99 ? `${hundred.toFixed(1)}%` : `${Math.round(hundred)}%`;
  };
  const probability = (log) => percent(Math.exp(log));

  // ── words of the interface ────────────────────────────────────────────────────────────────────────────────
  const alpha = Number(data.alpha.toFixed(4));
  const formula = data.normalisation === "gnmt" ? `((5 + length) / 6)^${alpha}` : `length^${alpha}`;
  const counted = (count) => count.toLocaleString("en");
  const ENGLISH = {
    other: "한국어", otherLabel: "한국어 보기", source: "Source", translation: "Translation", note: "Note",
    cut: "The source is longer than the model can read; only its beginning was translated.",
    groups: `The model's own search runs in ${data.groups} groups that keep away from each other; this is one beam without groups.`,
    tree: "The beam, step by step",
    rule: `Beam ${data.beam}: each step keeps the ${data.beam === 1 ? "one prefix" : `${data.beam} prefixes`} of highest log p, and a finished output keeps its place among them; alpha ${alpha}: finished outputs are compared by their score, log p divided by the penalty ${formula}, ${alpha ? "so that a longer output does not lose only because it has more factors" : "which is 1: short outputs are favoured"}.`,
    covered: ` From the score of a finished output the coverage penalty (strength ${data.coverage}) takes for source pieces that were looked at too little.`,
    marks: { won: "best output", ended: "finished, with its score", kept: "kept", dead: "kept, but all that followed was pruned", pruned: "pruned, and how far below the last one kept" },
    hint: "Each box is a piece with its probability after the prefix before it; the best prefix is on top. Point at one, tap it, or focus the tree and use the arrow keys: ← to where it came from, → to what came of it, ↑ ↓ within a step.",
    stage: "Search tree. Arrow keys move from prefix to prefix.", pruned: "pruned", step: "step",
    chance: "p of this piece", total: "log p of the prefix", merit: "with what rules take",
    score: "score", rank: (rank, count, step) => `${rank} of ${count} kept at step ${step}`,
    finishedHere: "finished", root: "The search begins here, before the first piece.",
    gap: (gap) => (gap >= 0 ? `pruned: ${signed(gap)} below the last one kept` : `not chosen, though ${signed(-gap)} above the last one kept`),
    more: (count) => `+${counted(count)}`, moreTitle: (count) => `${counted(count)} more candidates were pruned`,
    stopTitle: "Why the search stopped", finishedTitle: "Finished outputs, best first",
    reason: {
      certain: (best, bound) => `Its answer is certain. The best finished output scores ${best}. The prefixes that still live can only lose log p; even at the longest output allowed (${data.limit} pieces, penalty ${data.longest.toFixed(2)}) none of them could score above ${bound}.`,
      full: () => (data.beam === 1 ? "The one prefix of the beam has taken </s>." : `All ${data.beam} places of the beam are taken by finished outputs.`),
      limit: () => `The longest output allowed was reached: after ${data.limit} pieces only </s> is left.`,
      nothing: () => "No candidate was left: the rules of the search forbid every further piece.",
    },
    head: ["", "Output", "Length", "log p", "Penalty", "Score"], empty: "(empty)", lengthNote: "Lengths count </s>.",
  };
  const KOREAN = {
    other: "English", otherLabel: "View in English", source: "원문", translation: "번역", note: "참고",
    cut: "원문이 모델이 읽을 수 있는 길이를 넘어, 앞부분만 번역했습니다.",
    groups: `이 모델의 원래 탐색은 서로 다른 조각을 고르는 ${data.groups}개 그룹으로 나뉘지만, 여기서는 그룹 없이 빔 하나로 탐색했습니다.`,
    tree: "단계별로 본 빔",
    rule: `빔 ${data.beam}: 단계마다 log p가 가장 높은 접두사 ${data.beam}개를 남기며, 끝난 출력도 그 가운데 한 자리를 차지합니다. 알파 ${alpha}: 끝난 출력은 log p를 벌점 ${formula.replace("length", "길이")} 값으로 나눈 점수로 비교합니다. ${alpha ? "그래서 긴 출력이 조각이 많다는 이유만으로 지지 않습니다." : "이 벌점은 1이므로 짧은 출력이 유리합니다."}`,
    covered: ` 끝난 출력의 점수에서는 원문 조각을 덜 본 만큼 커버리지 벌점(세기 ${data.coverage})을 뺍니다.`,
    marks: { won: "가장 좋은 출력", ended: "끝난 출력과 점수", kept: "남은 것", dead: "남았지만 뒤가 모두 잘린 것", pruned: "잘린 것과, 남은 마지막 것보다 모자란 정도" },
    hint: "상자는 조각과, 앞의 접두사가 주어졌을 때의 확률입니다. 위에 있을수록 좋은 접두사입니다. 상자를 가리키거나 누르세요. 트리를 선택하고 화살표 키를 써도 됩니다. ←는 온 곳, →는 이어진 곳, ↑ ↓는 같은 단계입니다.",
    stage: "탐색 트리. 화살표 키로 접두사 사이를 이동합니다.", pruned: "잘린 것", step: "단계",
    chance: "이 조각의 확률", total: "접두사의 log p", merit: "규칙을 적용한 값",
    score: "점수", rank: (rank, count, step) => `${step}단계에 남은 ${count}개 가운데 ${rank}위`,
    finishedHere: "끝남", root: "첫 조각 앞입니다. 탐색은 여기서 시작합니다.",
    gap: (gap) => (gap >= 0 ? `잘림: 남은 마지막 것보다 ${signed(gap)} 낮음` : `남은 마지막 것보다 ${signed(-gap)} 높지만 선택되지 않음`),
    more: (count) => `+${counted(count)}`, moreTitle: (count) => `이 밖에 후보 ${counted(count)}개가 잘렸습니다`,
    stopTitle: "탐색이 멈춘 까닭", finishedTitle: "끝난 출력, 좋은 것부터",
    reason: {
      certain: (best, bound) => `답이 확실해졌습니다. 끝난 출력 가운데 최고 점수는 ${best}입니다. 살아 있는 접두사의 log p는 줄어들기만 하므로, 허용된 가장 긴 출력(조각 ${data.limit}개, 벌점 ${data.longest.toFixed(2)})까지 가더라도 점수는 ${bound} 이하입니다.`,
      full: () => (data.beam === 1 ? "빔의 하나뿐인 접두사가 </s>로 끝났습니다." : `빔의 ${data.beam}자리가 모두 끝난 출력으로 찼습니다.`),
      limit: () => `허용된 가장 긴 출력에 이르렀습니다. 조각 ${data.limit}개 뒤에는 </s>만 올 수 있습니다.`,
      nothing: () => "남은 후보가 없습니다. 탐색 규칙이 더 이을 조각을 모두 금지했습니다.",
    },
    head: ["", "출력", "길이", "log p", "벌점", "점수"], empty: "(빈 출력)", lengthNote: "길이는 </s>까지 셉니다.",
  };
  let language = "en";
  const say = () => (language === "ko" ? KOREAN : ENGLISH);

  // ── the tree: every candidate knows its step, its place and where it came from ────────────────────────────
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

  // ── where everything stands ───────────────────────────────────────────────────────────────────────────────
  const [TOP, ROW, HIGH, SMALL, BETWEEN, LEFT] = [34, 52, 42, 22, 34, 16];
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

  // ── building blocks ───────────────────────────────────────────────────────────────────────────────────────
  const filled = (made, attributes, children) => {
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "text") made.textContent = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
  const svg = element("edges");
  const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
  const drawn = (tag, attributes = {}, ...children) => filled(document.createElementNS(svg.namespaceURI, tag), attributes, children);
  const stand = (made, { left, top, width, height }) => {
    Object.assign(made.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
    if (height) made.style.height = `${height}px`;
    return made;
  };
  const pieceOf = (one) => {
    const marked = one.piece.startsWith(SPACE) && one.piece.length > 1;
    return make("span", { class: "piece", dir: "auto" }, ...(marked ? [make("span", { class: "mark", text: SPACE })] : []), marked ? one.piece.slice(1) : one.piece);
  };

  // ── the picture ───────────────────────────────────────────────────────────────────────────────────────────
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
  const draw = () => {
    const sheet = element("sheet");
    Object.assign(sheet.style, { width: `${width}px`, height: `${height}px` });
    filled(svg, { width, height }, []);
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

  // ── what is looked at ─────────────────────────────────────────────────────────────────────────────────────
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

  // ── the rest of the page ──────────────────────────────────────────────────────────────────────────────────
  const showWords = () => {
    document.documentElement.lang = language;
    element("title").textContent = data.title;
    element("language").textContent = say().other;
    element("language").setAttribute("aria-label", say().otherLabel);
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
    for (const made of document.querySelectorAll(".others")) {
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
  const remember = () => {
    const kept = new URLSearchParams({ step: selected.step + 1, kind: selected.kind, place: selected.place + 1, language });
    try { history.replaceState(null, "", `#${kept}`); } catch { /* inside a notebook's frame there is no address to keep */ }
  };
  const recall = () => {
    const kept = new URLSearchParams(location.hash.slice(1));
    language = kept.get("language") === "ko" ? "ko" : "en";
    const step = data.steps[kept.get("step") - 1];
    const kind = kept.get("kind") === "pruned" ? "pruned" : "kept";
    selected = (step && step[kind][kept.get("place") - 1]) || best;
  };
  element("language").addEventListener("click", () => {
    language = language === "ko" ? "en" : "ko";
    showWords();
    look();
    remember();
  });

  recall();
  draw();
  showWords();
  look();
  if (selected !== best) reveal(selected);
})();
