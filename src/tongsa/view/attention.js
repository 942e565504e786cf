"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const percent = (share) => `${Math.round(share * 100)}%`;
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const SPACE = "▁";

  // ── words of the interface ────────────────────────────────────────────────────────────────────────────────
  const rules = data.rules;
  const ENGLISH = {
    other: "한국어", otherLabel: "한국어 보기", sentence: "Sentence", before: "Previous sentence", after: "Next sentence",
    source: "Source", translation: "Translation", label: "Label", reference: "Reference", score: "Score", roles: "Kind of attention",
    cross: "Cross", encoder: "Encoder", decoder: "Decoder", hops: "Hops",
    unit: "Unit", pieces: "Pieces", words: "Words", view: "View", heat: "Heat map", lines: "Lines",
    scale: "Colour scale", one: "0 to 1", largest: "To the largest",
    overview: "All layers and heads", layer: "Layer", head: "Head", mean: "Mean", meanOf: "mean of the heads",
    keysHelp: "Rows are layers, columns heads. Arrow keys move from head to head.",
    smaller: "Smaller", larger: "Larger", save: "Save image", weight: "Weight",
    hint: "Point at the picture, or focus it and use the arrow keys.",
    placesTitle: "Where the weight falls", equal: "if equal",
    itself: "itself", previous: "previous", next: "next", earlier: "two before", first: "first", last: "last",
    diagonal: "diagonal", broad: "broad", focused: "focused", mixed: "mixed", fixed: "fixed",
    axes: (role, lines) => {
      const [query, key] = {
        cross: ["target being written", "source being read"], encoder: ["source that reads", "source being read"],
        decoder: ["target being written", "target before it"],
      }[role] || ["queries", "source being read"];
      return lines ? `Left: ${query} · right: ${key}` : `Rows: ${query} · columns: ${key}`;
    },
    entropy: (bits, spread) => `Entropy ${bits} bits, ${spread} of the greatest possible.`,
    told: (kind, number, place) => place ? `${number} of the weight falls on “${place}”.` : {
      broad: "Broad: it reads nearly everything.", focused: `Focused: the largest weight of a query is ${number} on average.`,
      mixed: `Mixed: the largest weight of a query is ${number} on average.`, fixed: "Fixed: there is only one key to read.",
    }[kind],
    picture: (name) => `${name}. Arrow keys move over the weights.`,
    thumb: (layer, head, kind, number, bits) => `Layer ${layer}, ${head}: ${kind} ${number}, entropy ${bits} bits`,
    naming: "How heads are named",
    explained: [
      `A head is named by the place where most of its weight falls, if that is at least ${percent(rules.half)} of it and at least ${rules.lift} times what equal weights would give. Otherwise it is broad if its entropy reaches ${percent(rules.broad)} of the greatest possible, focused if the largest weight of a query is at least ${percent(rules.half)} on average, and else mixed.`,
      `All numbers are means over those queries of this one sentence that had more than one key to read, computed before rounding. Diagonal: at most ${percent(rules.band)} of the source's length away from the straight line between first and last.`,
      "For words, the pieces of a key are summed and those of a query averaged; the numbers are then computed anew.",
      "Weights show where a head looks. They do not by themselves explain why the model wrote a word.",
    ],
  };
  const KOREAN = {
    other: "English", otherLabel: "View in English", sentence: "문장", before: "이전 문장", after: "다음 문장",
    source: "원문", translation: "번역", label: "레이블", reference: "참조 번역", score: "점수", roles: "어텐션 종류",
    cross: "교차", encoder: "인코더", decoder: "디코더", hops: "홉",
    unit: "단위", pieces: "조각", words: "단어", view: "보기", heat: "히트맵", lines: "연결선",
    scale: "색 범위", one: "0에서 1까지", largest: "최댓값까지",
    overview: "모든 층과 헤드", layer: "층", head: "헤드", mean: "평균", meanOf: "헤드 평균",
    keysHelp: "행은 층, 열은 헤드입니다. 화살표 키로 헤드 사이를 이동합니다.",
    smaller: "작게", larger: "크게", save: "이미지 저장", weight: "가중치",
    hint: "그림 위에 포인터를 올리거나, 그림을 선택한 뒤 화살표 키를 누르세요.",
    placesTitle: "가중치가 놓인 자리", equal: "고르게 나눌 때",
    itself: "자신", previous: "직전", next: "직후", earlier: "두 칸 앞", first: "처음", last: "끝",
    diagonal: "대각선", broad: "분산", focused: "집중", mixed: "혼합", fixed: "고정",
    axes: (role, lines) => {
      const [query, key] = {
        cross: ["생성하는 번역문", "읽히는 원문"], encoder: ["읽는 원문", "읽히는 원문"], decoder: ["생성하는 번역문", "그 앞의 번역문"],
      }[role] || ["쿼리", "읽히는 원문"];
      return lines ? `왼쪽: ${query} · 오른쪽: ${key}` : `행: ${query} · 열: ${key}`;
    },
    entropy: (bits, spread) => `엔트로피 ${bits}비트, 최댓값의 ${spread}.`,
    told: (kind, number, place) => place ? `가중치의 ${number}가 ‘${place}’ 자리에 놓입니다.` : {
      broad: "분산: 거의 모든 곳을 고루 읽습니다.", focused: `집중: 쿼리별 최대 가중치의 평균이 ${number}입니다.`,
      mixed: `혼합: 쿼리별 최대 가중치의 평균이 ${number}입니다.`, fixed: "고정: 읽을 수 있는 키가 하나뿐입니다.",
    }[kind],
    picture: (name) => `${name}. 화살표 키로 가중치를 살펴봅니다.`,
    thumb: (layer, head, kind, number, bits) => `${layer}층 ${head}: ${kind} ${number}, 엔트로피 ${bits}비트`,
    naming: "헤드 이름을 정하는 방법",
    explained: [
      `가중치가 가장 많이 놓인 자리가 전체의 ${percent(rules.half)} 이상이고 고르게 나눴을 때의 ${rules.lift}배 이상이면, 그 자리가 헤드의 이름이 됩니다. 그렇지 않으면 엔트로피가 최댓값의 ${percent(rules.broad)} 이상일 때 ‘분산’, 쿼리별 최대 가중치의 평균이 ${percent(rules.half)} 이상일 때 ‘집중’, 나머지는 ‘혼합’입니다.`,
      `모든 수치는 이 문장에서 읽을 수 있는 키가 둘 이상인 쿼리에 대한 평균이며, 반올림하기 전의 값으로 계산합니다. ‘대각선’은 처음과 끝을 잇는 직선에서 원문 길이의 ${percent(rules.band)} 이내를 뜻합니다.`,
      "단어 단위에서는 키 쪽 조각의 가중치를 더하고 쿼리 쪽 조각의 가중치를 평균한 뒤, 수치를 다시 계산합니다.",
      "가중치는 헤드가 어디를 보는지를 나타냅니다. 모델이 왜 그 단어를 썼는지를 그것만으로 설명하지는 않습니다.",
    ],
  };

  // ── what is shown ─────────────────────────────────────────────────────────────────────────────────────────
  const state = { reading: 0, role: "", layer: 0, head: 0, unit: "pieces", view: "heat", scale: "one", language: "en" };
  let zoom = 1;
  let pointed = null; // {query, key}; one of them is null where a single word is meant
  let layout = null;

  const say = () => (state.language === "ko" ? KOREAN : ENGLISH);
  const named = (word) => (typeof say()[word] === "string" ? say()[word] : word);
  const reading = () => data.readings[state.reading];
  const role = () => reading().roles.find((one) => one.role === state.role);
  const grid = () => role()[state.unit];
  const columns = (layer) => (layer.heads.length > 1 ? layer.heads.length + 1 : 1); // the last is the mean
  const headName = (layer, head) =>
    layer.heads.length > 1 && head === layer.heads.length ? say().meanOf
      : state.language === "ko" ? `헤드 ${head + 1}` : `head ${head + 1}`;

  const settle = () => {
    state.reading = clamp(state.reading || 0, 0, data.readings.length - 1);
    const roles = reading().roles;
    if (!roles.length) return;
    if (!roles.some((one) => one.role === state.role)) state.role = roles[0].role;
    const layers = grid().layers;
    state.layer = clamp(state.layer || 0, 0, layers.length - 1);
    state.head = clamp(state.head || 0, 0, columns(layers[state.layer]) - 1);
  };

  const CHOICES = { unit: ["pieces", "words"], view: ["heat", "lines"], scale: ["one", "largest"] };
  const recall = () => {
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const key of ["reading", "layer", "head"]) state[key] = (parseInt(kept.get(key), 10) || 1) - 1;
    for (const [key, values] of Object.entries(CHOICES)) if (values.includes(kept.get(key))) state[key] = kept.get(key);
    state.role = kept.get("role") || "";
    state.language = kept.get("language") === "ko" ? "ko" : "en";
  };
  const remember = () => {
    const kept = new URLSearchParams({ ...state, reading: state.reading + 1, layer: state.layer + 1, head: state.head + 1 });
    try { history.replaceState(null, "", `#${kept}`); } catch { /* inside a notebook's frame there is no address to keep */ }
  };

  // ── weights ───────────────────────────────────────────────────────────────────────────────────────────────
  const unpacked = new WeakMap(); // layer → its matrices, made when first looked at
  const matrix = (layer, head) => {
    if (!unpacked.has(layer)) unpacked.set(layer, []);
    const made = unpacked.get(layer);
    if (!made[head]) made[head] = head < layer.heads.length ? scaled(layer.heads[head]) : meanOf(layer);
    return made[head];
  };
  const scaled = (grains) => Float32Array.from(grains, (grain) => grain / data.grain);
  const meanOf = (layer) => {
    const sum = new Float32Array(layer.heads[0].length);
    for (const head of layer.heads) for (let i = 0; i < sum.length; i++) sum[i] += head[i];
    return sum.map((grain) => grain / data.grain / layer.heads.length);
  };
  const largest = (weights) => weights.reduce((most, weight) => Math.max(most, weight), 0);
  const full = (weights) => (state.scale === "one" ? 1 : largest(weights) || 1);

  // ── colours: one hue, lightness alone carries the weight ──────────────────────────────────────────────────
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const LIGHT_RAMP = ["f4f6fa", "d5e3f6", "a6c7ed", "6ea2dd", "3c78c4", "1f4f97", "0d2a5b"];
  const DARK_RAMP = ["181d25", "1b2f4c", "224a7c", "2f6bb3", "5593dd", "94c0f5", "e4f0ff"];
  const stops = () => (dark.matches ? DARK_RAMP : LIGHT_RAMP);
  const table = () => { // 256 × RGB
    const points = stops().map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    return Array.from({ length: 256 }, (_, i) => {
      const place = (i / 255) * (points.length - 1);
      const from = Math.min(Math.floor(place), points.length - 2);
      return points[from].map((low, c) => Math.round(low + (place - from) * (points[from + 1][c] - low)));
    });
  };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const bitmap = (weights, rows, cols, most) => {
    const canvas = document.createElement("canvas");
    canvas.width = cols;
    canvas.height = rows;
    const ctx = canvas.getContext("2d");
    const image = ctx.createImageData(cols, rows);
    const colours = table();
    for (let i = 0; i < weights.length; i++) {
      const [r, g, b] = colours[Math.round(clamp(weights[i] / most, 0, 1) * 255)];
      image.data.set([r, g, b, 255], i * 4);
    }
    ctx.putImageData(image, 0, 0);
    return canvas;
  };

  // a thumbnail of 512 pieces keeps its peaks: the largest weight of each block is shown
  const pooled = (weights, rows, cols, limit) => {
    const r = Math.min(rows, limit), c = Math.min(cols, limit);
    if (r === rows && c === cols) return [weights, rows, cols];
    const small = new Float32Array(r * c);
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < cols; j++) {
        const at = Math.floor((i * r) / rows) * c + Math.floor((j * c) / cols);
        small[at] = Math.max(small[at], weights[i * cols + j]);
      }
    }
    return [small, r, c];
  };

  // ── building blocks ───────────────────────────────────────────────────────────────────────────────────────
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "text") made.textContent = value;
      else if (key === "click") made.addEventListener("click", value);
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
  const short = (text, length) => {
    const characters = Array.from(text);
    return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
  };

  const showSentence = () => {
    const now = reading();
    element("sentence-label").textContent = say().sentence;
    const select = element("reading");
    select.replaceChildren(...data.readings.map((one, i) => make("option", { value: i, text: `${i + 1}. ${short(one.text, 90)}` })));
    select.value = state.reading;
    for (const [id, disabled] of [["before", state.reading === 0], ["after", state.reading === data.readings.length - 1]]) {
      element(id).disabled = disabled;
      element(id).setAttribute("aria-label", say()[id]);
    }
    document.querySelector(".chooser").hidden = data.readings.length === 1;
    const rows = [["source", now.text], [now.labelled ? "label" : "translation", now.translation], ["reference", now.reference]];
    if (now.score !== null) rows.push(["score", now.score.toFixed(3).replace("-", "−")]);
    element("texts").replaceChildren(...rows.filter(([, text]) => text).flatMap(([name, text]) =>
      [make("dt", { text: say()[name] }), make("dd", { class: name === "label" ? "translation" : name, text, dir: "auto" })]));
  };

  const showTabs = () => {
    element("tabs").setAttribute("aria-label", say().roles);
    element("tabs").replaceChildren(...reading().roles.map((one) => make("button", {
      type: "button", role: "tab", id: `tab-${one.role}`, text: named(one.role), "aria-controls": "panel",
      "aria-selected": one.role === state.role, tabindex: one.role === state.role ? 0 : -1,
      click: () => change({ role: one.role }),
    })));
    element("panel").setAttribute("aria-labelledby", `tab-${state.role}`);
  };

  const showSwitches = () => {
    element("switches").replaceChildren(...Object.entries(CHOICES).map(([name, values]) =>
      make("div", { class: "switch", role: "group", "aria-label": say()[name] }, ...values.map((value) => make("button", {
        type: "button", id: `${name}-${value}`, text: say()[value], "aria-label": `${say()[name]}: ${say()[value]}`,
        "aria-pressed": state[name] === value, click: () => change({ [name]: value }),
      })))));
  };

  // ── all heads, small ──────────────────────────────────────────────────────────────────────────────────────
  let drawing = 0;
  const showThumbs = () => {
    const { layers } = grid();
    const across = Math.max(...layers.map(columns));
    const heads = Math.max(...layers.map((layer) => layer.heads.length));
    const box = element("thumbs");
    box.style.setProperty("--columns", across);
    element("panel").style.setProperty("--overview", `${clamp(across * 5.5 + 2, 10, 35)}rem`);
    box.setAttribute("aria-label", say().overview);
    const titles = Array.from({ length: across }, (_, i) =>
      make("span", { class: "head-number", "aria-hidden": true, text: across > 1 && i === heads ? say().mean : i + 1 }));
    const cells = [make("span"), ...titles];
    const waiting = [];
    layers.forEach((layer, l) => {
      cells.push(make("span", { class: "layer-number", "aria-hidden": true, text: l + 1 }));
      for (let h = 0; h < across; h++) cells.push(h < columns(layer) ? thumb(layer, l, h, waiting) : make("span"));
    });
    box.replaceChildren(...cells);
    drawSoon(waiting, ++drawing);
    element("keys-help").textContent = say().keysHelp;
    element("keys-help").hidden = across === 1 && layers.length === 1;
    const naming = element("naming");
    naming.firstElementChild.textContent = say().naming;
    naming.lastElementChild.replaceChildren(...say().explained.map((text) => make("p", { text })));
  };

  const thumb = (layer, l, h, waiting) => {
    const { kind, number, entropy } = layer.summaries[h];
    const canvas = make("canvas", { width: 160, height: 160, "aria-hidden": true });
    waiting.push([canvas, layer, h]);
    return make("button", {
      type: "button", class: "thumb", id: `head-${l}-${h}`,
      "aria-label": say().thumb(l + 1, headName(layer, h), say()[kind], percent(number), entropy.toFixed(2)),
      click: () => choose(l, h),
    }, canvas, make("span", { class: "kind", text: say()[kind] }), " ", make("span", { class: "number", text: percent(number) }));
  };

  const drawSoon = (waiting, turn) => {
    if (turn !== drawing) return; // something newer is being drawn
    const { queries, keys } = grid();
    const until = performance.now() + 12;
    while (waiting.length && performance.now() < until) {
      const [canvas, layer, h] = waiting.shift();
      const weights = matrix(layer, h);
      const [small, rows, cols] = pooled(weights, queries.length, keys.length, 96);
      const ctx = canvas.getContext("2d");
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(bitmap(small, rows, cols, full(weights)), 0, 0, canvas.width, canvas.height);
    }
    if (waiting.length) requestAnimationFrame(() => drawSoon(waiting, turn));
  };

  const choose = (layer, head) => {
    state.layer = layer;
    state.head = head;
    pointed = null;
    remember();
    showChosen();
  };

  // ── one head, large ───────────────────────────────────────────────────────────────────────────────────────
  let chosen = null; // {weights, most, image, queries, keys}
  const showChosen = () => {
    for (const button of element("thumbs").querySelectorAll("button")) {
      const here = button.id === `head-${state.layer}-${state.head}`;
      button.setAttribute("aria-pressed", here);
      button.tabIndex = here ? 0 : -1;
    }
    const { queries, keys, layers } = grid();
    const layer = layers[state.layer];
    const weights = matrix(layer, state.head);
    const most = full(weights);
    chosen = { weights, most, queries, keys, image: bitmap(weights, queries.length, keys.length, most) };
    const { kind, number, entropy, spread, places } = layer.summaries[state.head];
    const name = state.language === "ko" ? `${state.layer + 1}층 · ${headName(layer, state.head)}` : `Layer ${state.layer + 1} · ${headName(layer, state.head)}`;
    element("head-name").textContent = name;
    const told = say().told(kind, percent(number), places[kind] ? say()[kind] : "");
    element("head-fact").textContent = kind === "fixed" ? told : `${told} ${say().entropy(entropy.toFixed(2), percent(spread))}`;
    element("axes").textContent = say().axes(state.role, state.view === "lines");
    element("stage").setAttribute("aria-label", say().picture(name));
    element("legend-title").textContent = say().weight;
    element("most").textContent = most === 1 ? "1" : most.toFixed(3);
    element("ramp").style.background = state.view === "lines"
      ? `linear-gradient(to right, transparent, ${css("--accent")})`
      : `linear-gradient(to right, ${stops().map((hex) => `#${hex}`).join(", ")})`;
    showPlaces(places);
    for (const id of ["smaller", "larger"]) element(id).setAttribute("aria-label", say()[id]);
    element("save").textContent = say().save;
    arrange();
  };

  const showPlaces = (places) => {
    element("places-title").textContent = say().placesTitle;
    element("places-title").hidden = !Object.keys(places).length;
    element("places").replaceChildren(...Object.entries(places).flatMap(([name, { share, chance }]) => {
      const fill = make("span", { class: "fill" }), mark = make("span", { class: "chance" });
      fill.style.width = `${share * 100}%`;
      mark.style.left = `calc(${chance * 100}% - 1px)`;
      const equal = make("span", { text: ` (${say().equal} ${percent(chance)})` });
      if (state.language === "en") equal.textContent = ` (${percent(chance)} ${say().equal})`;
      return [make("span", { text: say()[name] }), make("span", { class: "track", "aria-hidden": true }, fill, mark),
        make("span", { class: "value", text: percent(share) }, equal)];
    }));
  };

  const ruler = document.createElement("canvas").getContext("2d");
  const font = (size, weight = 400) => `${weight} ${size}px ${css("--sans")}`;
  const widest = (labels, size) => {
    ruler.font = font(size, 600);
    return labels.reduce((most, label) => Math.max(most, ruler.measureText(short(label, 16)).width), 0);
  };

  const arrange = () => {
    const width = element("detail").clientWidth - 16, height = innerHeight * 0.8; // a scroll bar may need the rest
    layout = state.view === "heat" ? heatLayout(width, height) : lineLayout(width, height);
    const stage = element("stage"), sheet = element("sheet");
    sheet.style.width = `${layout.width}px`;
    sheet.style.height = `${layout.height}px`;
    layout.seen = { width: Math.min(stage.clientWidth, layout.width), height: Math.min(stage.clientHeight, layout.height) };
    const canvas = element("picture"), density = devicePixelRatio || 1;
    canvas.width = Math.round(layout.seen.width * density);
    canvas.height = Math.round(layout.seen.height * density);
    canvas.style.width = `${layout.seen.width}px`;
    canvas.style.height = `${layout.seen.height}px`;
    draw();
    showPointed();
  };

  const heatLayout = (width, height) => {
    const { queries, keys } = chosen;
    const left = Math.ceil(widest(queries, 13)) + 12;
    const wide = Math.ceil(widest(keys, 13));
    const fitted = clamp(Math.min((width - left - 4) / keys.length, (height - 90) / queries.length), 12, 64);
    const flat = wide + 8 <= fitted * zoom;
    const right = flat ? 1 : Math.ceil(wide * 0.5);
    const beside = (width - left - right) / keys.length; // leaning labels need room on the right, too
    const cell = Math.max(2, Math.floor((flat ? fitted : clamp(beside, 12, fitted)) * zoom));
    const top = flat ? 28 : Math.ceil(wide * 0.866) + 14;
    return { cell, left, top, flat, size: clamp(cell - 2, 10, 13), width: left + cell * keys.length + right, height: top + cell * queries.length + 1 };
  };

  const lineLayout = (width, height) => {
    const { queries, keys } = chosen;
    const fitted = clamp(height / Math.max(queries.length, keys.length), 18, 28);
    const row = Math.max(14, Math.round(fitted * zoom)), size = clamp(row - 7, 11, 15), figures = 48;
    const left = Math.ceil(widest(queries, size)) + figures + 18;
    const right = Math.ceil(widest(keys, size)) + figures + 18;
    const across = Math.max(left + right + 100, Math.min(width, 680)), down = row * Math.max(queries.length, keys.length);
    // the shorter side is spread out, so that a straight translation gives straight lines
    const spread = (count) => Math.min(2 * row, down / count), begin = (count) => 4 + (down - spread(count) * count) / 2;
    const sides = { query: queries.length, key: keys.length };
    const rows = Object.fromEntries(Object.entries(sides).map(([side, n]) => [side, { step: spread(n), begin: begin(n) }]));
    return { row, rows, size, left, right, width: across, height: down + 8 };
  };

  const draw = () => {
    const stage = element("stage"), ctx = element("picture").getContext("2d"), density = devicePixelRatio || 1;
    ctx.setTransform(density, 0, 0, density, 0, 0);
    paint(ctx, { x: stage.scrollLeft, y: stage.scrollTop, ...layout.seen });
  };

  const paint = (ctx, seen) => {
    const look = { ink: css("--ink"), quiet: css("--quiet"), paper: css("--paper"), accent: css("--accent"), tint: css("--tint") };
    ctx.fillStyle = look.paper;
    ctx.fillRect(0, 0, seen.width, seen.height);
    ctx.textBaseline = "middle";
    (state.view === "heat" ? paintHeat : paintLines)(ctx, seen, look);
  };

  // '▁' is part of a piece's name, but the eye should find the letters
  const write = (ctx, label, x, y, align, ink, quiet) => {
    const text = short(label, 16), mark = text.startsWith(SPACE) && text.length > 1 ? SPACE : "", rest = text.slice(mark.length);
    const space = ctx.measureText(mark).width, length = space + ctx.measureText(rest).width;
    const begin = align === "right" ? x - length : align === "center" ? x - length / 2 : x;
    ctx.textAlign = "left";
    ctx.fillStyle = quiet;
    ctx.globalAlpha = 0.55;
    ctx.fillText(mark, begin, y);
    ctx.globalAlpha = 1;
    ctx.fillStyle = ink;
    ctx.fillText(rest, begin + space, y);
  };

  const within = (ctx, x, y, width, height, painting) => {
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y, width, height);
    ctx.clip();
    painting();
    ctx.restore();
  };

  const paintHeat = (ctx, seen, look) => {
    const { cell, left, top, size } = layout;
    const { queries, keys, image } = chosen;
    const x = (key) => left + key * cell - seen.x, y = (query) => top + query * cell - seen.y;
    const firstKey = Math.floor(seen.x / cell), lastKey = Math.min(keys.length, Math.ceil((seen.x + seen.width - left) / cell));
    const firstQuery = Math.floor(seen.y / cell), lastQuery = Math.min(queries.length, Math.ceil((seen.y + seen.height - top) / cell));
    const every = Math.ceil(11 / cell);
    within(ctx, left, top, seen.width - left, seen.height - top, () => {
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(image, x(0), y(0), cell * keys.length, cell * queries.length);
      if (cell >= 10) paintGaps(ctx, x, y, firstKey, lastKey, firstQuery, lastQuery, look);
      if (cell >= 38) paintFigures(ctx, x, y, firstKey, lastKey, firstQuery, lastQuery);
      paintPointed(ctx, x, y, look);
    });
    within(ctx, 0, top, left, seen.height - top, () => {
      for (let query = firstQuery - (firstQuery % every); query < lastQuery; query += every) {
        const on = pointed && pointed.query === query;
        ctx.font = font(size, on ? 650 : 400);
        write(ctx, queries[query], left - 8, y(query) + cell / 2, "right", on ? look.accent : look.ink, look.quiet);
      }
    });
    within(ctx, left - 4, 0, seen.width, top, () => {
      const reach = Math.ceil(top / cell); // labels lean in from the left
      const from = Math.max(0, firstKey - reach);
      for (let key = from - (from % every); key < lastKey; key += every) {
        const on = pointed && pointed.key === key;
        ctx.font = font(size, on ? 650 : 400);
        ctx.save();
        ctx.translate(x(key) + cell / 2, layout.flat ? top - 13 : top - 8);
        if (!layout.flat) ctx.rotate(-Math.PI / 3);
        write(ctx, keys[key], 0, 0, layout.flat ? "center" : "left", on ? look.accent : look.ink, look.quiet);
        ctx.restore();
      }
    });
  };

  const paintGaps = (ctx, x, y, firstKey, lastKey, firstQuery, lastQuery, look) => {
    ctx.fillStyle = look.paper;
    for (let key = firstKey; key <= lastKey; key++) ctx.fillRect(x(key) - 0.5, y(firstQuery), 1, y(lastQuery) - y(firstQuery));
    for (let query = firstQuery; query <= lastQuery; query++) ctx.fillRect(x(firstKey), y(query) - 0.5, x(lastKey) - x(firstKey), 1);
  };

  const paintFigures = (ctx, x, y, firstKey, lastKey, firstQuery, lastQuery) => {
    const { weights, keys, most } = chosen, half = layout.cell / 2, colours = table();
    ctx.font = font(layout.cell >= 50 ? 13 : 12);
    ctx.textAlign = "center";
    for (let query = firstQuery; query < lastQuery; query++) {
      for (let key = firstKey; key < lastKey; key++) {
        const weight = weights[query * keys.length + key];
        if (weight < 0.005) continue;
        const [r, g, b] = colours[Math.round(clamp(weight / most, 0, 1) * 255)];
        ctx.fillStyle = light(r, g, b) ? "#10151c" : "#ffffff";
        ctx.fillText(weight.toFixed(2).replace(/^0/, ""), x(key) + half, y(query) + half + 0.5);
      }
    }
  };
  // the ink with the greater contrast (relative luminance, WCAG 2)
  const light = (...rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19;
  };

  const paintPointed = (ctx, x, y, look) => {
    if (!pointed) return;
    const { cell } = layout, { query, key } = pointed;
    ctx.strokeStyle = look.accent;
    ctx.lineWidth = 1.5;
    ctx.globalAlpha = query !== null && key !== null ? 0.45 : 1;
    if (query !== null) ctx.strokeRect(x(0), y(query), cell * chosen.keys.length, cell);
    if (key !== null) ctx.strokeRect(x(key), y(0), cell, cell * chosen.queries.length);
    ctx.globalAlpha = 1;
    if (query === null || key === null) return;
    ctx.strokeStyle = look.ink;
    ctx.lineWidth = 2;
    ctx.strokeRect(x(key), y(query), cell, cell);
  };

  const paintLines = (ctx, seen, look) => {
    const { row, rows, left, right, width, size } = layout;
    const { queries, keys, weights, most } = chosen;
    const place = (side) => (i) => rows[side].begin + rows[side].step * (i + 0.5) - seen.y;
    const queryY = place("query"), keyY = place("key"), from = left - seen.x, to = width - right - seen.x, middle = (from + to) / 2;
    const hidden = (a, b) => Math.max(a, b) < 0 || Math.min(a, b) > seen.height;
    const wanted = (query, key) => !pointed || pointed.query === query || pointed.key === key;
    const least = pointed ? 0.001 : 0.01 * most; // what is fainter cannot be seen among the others
    ctx.strokeStyle = look.accent;
    for (let query = 0; query < queries.length; query++) {
      for (let key = 0; key < keys.length; key++) {
        const weight = weights[query * keys.length + key];
        if (weight < least || !wanted(query, key) || hidden(queryY(query), keyY(key))) continue;
        ctx.globalAlpha = Math.min(1, weight / most);
        ctx.lineWidth = 1 + 3 * Math.min(1, weight / most);
        ctx.beginPath();
        ctx.moveTo(from, queryY(query));
        ctx.bezierCurveTo(middle, queryY(query), middle, keyY(key), to, keyY(key));
        ctx.stroke();
      }
    }
    ctx.globalAlpha = 1;
    const label = (text, i, side) => {
      const y = place(side)(i);
      if (y < -row || y > seen.height + row) return;
      const isQuery = side === "query", on = pointed && pointed[side] === i;
      const other = pointed && pointed[side] === null;
      const weight = !other ? 0 : isQuery ? weights[i * keys.length + pointed.key] : weights[pointed.query * keys.length + i];
      ctx.font = font(size, on || (other && weight >= 0.5 * most) ? 650 : 400);
      const ink = on ? look.accent : pointed && !(other && weight >= 0.005) ? look.quiet : look.ink;
      const x = isQuery ? from - 10 : to + 10;
      write(ctx, text, x, y, isQuery ? "right" : "left", ink, look.quiet);
      if (!other || weight < 0.0005) return;
      ctx.font = font(12);
      ctx.fillStyle = look.quiet;
      ctx.textAlign = isQuery ? "left" : "right";
      ctx.fillText(weight.toFixed(3), isQuery ? 2 - seen.x : width - 2 - seen.x, y);
    };
    queries.forEach((text, i) => label(text, i, "query"));
    keys.forEach((text, i) => label(text, i, "key"));
  };

  // ── pointing, by mouse, finger or keys ────────────────────────────────────────────────────────────────────
  const underPointer = (event) => {
    const box = element("stage").getBoundingClientRect(), stage = element("stage");
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const { queries, keys } = chosen;
    if (x > layout.seen.width || y > layout.seen.height) return null;
    if (state.view === "lines") {
      const across = x + stage.scrollLeft, side = across <= layout.left ? "query" : across >= layout.width - layout.right ? "key" : "";
      if (!side) return null;
      const i = Math.floor((y + stage.scrollTop - layout.rows[side].begin) / layout.rows[side].step);
      if (i < 0 || i >= (side === "query" ? queries : keys).length) return null;
      return { query: null, key: null, [side]: i };
    }
    const key = x < layout.left ? null : Math.floor((x + stage.scrollLeft - layout.left) / layout.cell);
    const query = y < layout.top ? null : Math.floor((y + stage.scrollTop - layout.top) / layout.cell);
    if ((key === null && query === null) || key >= keys.length || query >= queries.length) return null;
    return { query, key };
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
    draw();
    showPointed();
  };
  const showPointed = () => {
    const readout = element("readout");
    readout.classList.toggle("quiet", !pointed);
    readout.textContent = pointed ? told().join("  ") : say().hint;
    if (!pointed) element("tip").hidden = true;
  };
  const showTip = (x, y) => {
    const tip = element("tip");
    tip.hidden = !pointed || state.view === "lines" || pointed.query === null || pointed.key === null;
    if (tip.hidden) return;
    const [words, weight] = told();
    tip.replaceChildren(make("span", { text: words }), make("b", { text: weight }));
    const left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${clamp(y + 18, 4, innerHeight - tip.offsetHeight - 4)}px`;
  };

  const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const stepOnStage = (event) => {
    if (event.key === "Escape") { point(null); return; }
    if (!ARROWS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key], { queries, keys } = chosen;
    if (state.view === "heat") {
      const full = pointed && pointed.query !== null && pointed.key !== null;
      const next = full ? { query: pointed.query + down, key: pointed.key + right } : { query: 0, key: 0 };
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
    const stage = element("stage");
    if (state.view === "lines") {
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

  const stepOverHeads = (event) => {
    const away = event.target !== document.body && !element("thumbs").contains(event.target);
    if (away || !ARROWS[event.key] || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key], { layers } = grid();
    const layer = clamp(state.layer + down, 0, layers.length - 1);
    choose(layer, clamp(state.head + right, 0, columns(layers[layer]) - 1));
    element(`head-${state.layer}-${state.head}`).focus();
  };

  const stepOverTabs = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const roles = reading().roles.map((one) => one.role);
    change({ role: roles[(roles.indexOf(state.role) + step + roles.length) % roles.length] });
    element(`tab-${state.role}`).focus();
  };

  const saveImage = () => {
    const canvas = document.createElement("canvas");
    const density = Math.min(2, 8192 / Math.max(layout.width, layout.height)); // browsers refuse larger canvases
    canvas.width = Math.round(layout.width * density);
    canvas.height = Math.round(layout.height * density);
    const ctx = canvas.getContext("2d");
    ctx.scale(density, density);
    pointed = state.view === "lines" ? pointed : null;
    paint(ctx, { x: 0, y: 0, width: layout.width, height: layout.height });
    canvas.toBlob((blob) => {
      const address = URL.createObjectURL(blob);
      make("a", { href: address, download: `${state.role}-layer-${state.layer + 1}-head-${state.head + 1}.png` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
  };

  // ── putting it together ───────────────────────────────────────────────────────────────────────────────────
  const show = () => {
    settle();
    document.documentElement.lang = state.language;
    element("title").textContent = data.title;
    element("note").textContent = data.note;
    element("note").hidden = !data.note;
    element("language").textContent = say().other;
    element("language").setAttribute("aria-label", say().otherLabel);
    element("language").lang = state.language === "ko" ? "en" : "ko";
    showSentence();
    showTabs();
    showSwitches();
    element("panel").hidden = !reading().roles.length;
    if (!reading().roles.length) return;
    showThumbs();
    showChosen();
  };
  const change = (what) => {
    const focused = document.activeElement && document.activeElement.id;
    Object.assign(state, what);
    pointed = null;
    show();
    remember();
    if (focused && element(focused)) element(focused).focus();
  };
  const enlarge = (factor) => {
    zoom = clamp(zoom * factor, 0.2, 4);
    pointed = null;
    arrange();
  };

  element("reading").addEventListener("change", (event) => change({ reading: Number(event.target.value) }));
  element("before").addEventListener("click", () => change({ reading: state.reading - 1 }));
  element("after").addEventListener("click", () => change({ reading: state.reading + 1 }));
  element("language").addEventListener("click", () => change({ language: state.language === "ko" ? "en" : "ko" }));
  element("smaller").addEventListener("click", () => enlarge(1 / 1.25));
  element("larger").addEventListener("click", () => enlarge(1.25));
  element("save").addEventListener("click", saveImage);
  element("tabs").addEventListener("keydown", stepOverTabs);
  document.addEventListener("keydown", stepOverHeads);
  const stage = element("stage");
  stage.addEventListener("keydown", stepOnStage);
  for (const kind of ["pointermove", "pointerdown"]) {
    stage.addEventListener(kind, (event) => { point(underPointer(event)); showTip(event.clientX, event.clientY); });
  }
  stage.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") point(null); });
  stage.addEventListener("blur", () => point(null));
  stage.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  dark.addEventListener("change", show);
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width) return; // height follows from what is drawn
    width = entry.contentRect.width;
    if (chosen) arrange();
  }).observe(element("detail"));
  recall();
  show();
})();
