/** Attention, looked into: every role, layer and head small, one of them large. */
import { frame } from "./attention_frame.js";
import { wordsOf } from "./attention_words.js";
import { bitmap, stops } from "./colours.js";
import { ARROWS, clamp, css, free, make, onTheme, percent, short } from "./elements.js";
import { stageIn } from "./stage.js";
import { largest, pooled, weightsOf } from "./weights.js";

const CHOICES = { unit: ["pieces", "words"], view: ["heat", "lines"], scale: ["one", "largest"] };
const THUMB = 96;
/** Rows and columns of a thumbnail, at most. */

/**
 * Draw into `root` (an element or a shadow root) what `page_data` of tongsa.view.attention has told.
 * Returns what the page around may do: change the language, tell and take back what is chosen.
 */
export const draw = (root, data, { language = "en", chosen: recalled = {}, changed = () => {} } = {}) => {
  root.append(...frame());
  const element = (id) => root.querySelector(`#${id}`);
  const words = wordsOf(data.rules);
  const state = { reading: 0, role: "", layer: 0, head: 0, unit: "pieces", view: "heat", scale: "one", language };
  let turn = 0; // of drawing: what comes late from an earlier one is thrown away

  // ── what is shown ──
  const say = () => words[state.language];
  const stage = stageIn(element, () => say().hint);
  const named = (word) => (typeof say()[word] === "string" ? say()[word] : word);
  const reading = () => data.readings[state.reading];
  const role = () => reading().roles.find((one) => one.role === state.role);
  const grid = () => role()[state.unit];
  const layers = () => role().layers;
  const columns = (layer) => (layer.count > 1 ? layer.count + 1 : 1); // the last is the mean
  const headName = (layer, head) =>
    layer.count > 1 && head === layer.count ? say().meanOf : state.language === "ko" ? `헤드 ${head + 1}` : `head ${head + 1}`;
  const full = (weights) => (state.scale === "one" ? 1 : largest(weights) || 1);
  const matrix = (layer, head) => weightsOf(role(), layer, head, state.unit, data.grain);

  const settle = () => {
    state.reading = clamp(state.reading || 0, 0, data.readings.length - 1);
    const roles = reading().roles;
    if (!roles.length) return;
    if (!roles.some((one) => one.role === state.role)) state.role = roles[0].role;
    state.layer = clamp(state.layer || 0, 0, layers().length - 1);
    state.head = clamp(state.head || 0, 0, columns(layers()[state.layer]) - 1);
  };
  const recall = (kept) => {
    for (const key of ["reading", "layer", "head"]) state[key] = (parseInt(kept[key], 10) || 1) - 1;
    for (const [key, values] of Object.entries(CHOICES)) if (values.includes(kept[key])) state[key] = kept[key];
    state.role = kept.role || "";
  };
  const remember = () => {
    const { role, unit, view, scale } = state;
    changed({ role, unit, view, scale, reading: state.reading + 1, layer: state.layer + 1, head: state.head + 1 });
  };

  const showSentence = () => {
    const now = reading();
    element("note").textContent = data.note;
    element("note").hidden = !data.note;
    element("sentence-label").textContent = say().sentence;
    const select = element("reading");
    select.replaceChildren(...data.readings.map((one, i) => make("option", { value: i, text: `${i + 1}. ${short(one.text, 90)}` })));
    select.value = state.reading;
    for (const [id, disabled] of [["before", state.reading === 0], ["after", state.reading === data.readings.length - 1]]) {
      element(id).disabled = disabled;
      element(id).setAttribute("aria-label", say()[id]);
    }
    root.querySelector(".chooser").hidden = data.readings.length === 1;
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

  // ── all heads, small ──
  const showThumbs = () => {
    const across = Math.max(...layers().map(columns)), heads = Math.max(...layers().map((layer) => layer.count));
    const box = element("thumbs");
    box.style.setProperty("--columns", across);
    element("panel").style.setProperty("--overview", `${clamp(across * 5.5 + 2, 10, 35)}rem`);
    box.setAttribute("aria-label", say().overview);
    const titles = Array.from({ length: across }, (_, i) =>
      make("span", { class: "head-number", "aria-hidden": true, text: across > 1 && i === heads ? say().mean : i + 1 }));
    const cells = [make("span"), ...titles];
    const waiting = [];
    layers().forEach((layer, l) => {
      cells.push(make("span", { class: "layer-number", "aria-hidden": true, text: l + 1 }));
      for (let h = 0; h < across; h++) cells.push(h < columns(layer) ? thumb(layer, l, h, waiting) : make("span"));
    });
    box.replaceChildren(...cells);
    paintThumbs(waiting, ++turn);
    element("keys-help").textContent = say().keysHelp;
    element("keys-help").hidden = across === 1 && layers().length === 1;
    const naming = element("naming");
    naming.firstElementChild.textContent = say().naming;
    naming.lastElementChild.replaceChildren(...say().explained.map((text) => make("p", { text })));
  };

  const thumb = (layer, l, h, waiting) => {
    const { kind, number, entropy } = grid().summaries[l][h];
    const canvas = make("canvas", { width: 160, height: 160, "aria-hidden": true });
    waiting.push([canvas, layer, h]);
    return make("button", {
      type: "button", class: "thumb", id: `head-${l}-${h}`,
      "aria-label": say().thumb(l + 1, headName(layer, h), say()[kind], percent(number), entropy.toFixed(2)),
      click: () => choose(l, h),
    }, canvas, make("span", { class: "kind", text: say()[kind] }), " ", make("span", { class: "number", text: percent(number) }));
  };

  const paintThumbs = async (waiting, own) => {
    const { queries, keys } = grid();
    let until = performance.now() + 8;
    for (const [canvas, layer, h] of waiting) {
      const weights = await matrix(layer, h);
      if (performance.now() > until) { // the page stays awake: the rest comes with the next frames
        await new Promise(requestAnimationFrame);
        until = performance.now() + 8;
      }
      if (own !== turn) return; // something newer is being drawn
      const [small, rows, cols] = pooled(weights, queries.length, keys.length, THUMB);
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.drawImage(bitmap(small, rows, cols, full(weights)), 0, 0, canvas.width, canvas.height);
    }
  };

  const choose = (layer, head) => {
    state.layer = layer;
    state.head = head;
    stage.forget();
    remember();
    return showChosen();
  };

  // ── one head, large ──
  const showChosen = async () => {
    const here = `head-${state.layer}-${state.head}`;
    for (const button of element("thumbs").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", button.id === here);
      button.tabIndex = button.id === here ? 0 : -1;
    }
    const own = turn, { queries, keys } = grid(), layer = layers()[state.layer];
    const weights = await matrix(layer, state.head);
    if (own !== turn || here !== `head-${state.layer}-${state.head}`) return;
    const most = full(weights);
    tellChosen(layer, most);
    stage.show({ weights, most, queries, keys, image: bitmap(weights, queries.length, keys.length, most) }, state.view);
    element("stage").dataset.head = here; // what is drawn now: tests wait for it
  };
  const tellChosen = (layer, most) => {
    const { kind, number, entropy, spread, places } = grid().summaries[state.layer][state.head];
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

  // ── by keys ──
  const stepOverHeads = (event) => {
    if (!ARROWS[event.key] || !free(event) || event.shiftKey) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key], layer = clamp(state.layer + down, 0, layers().length - 1);
    choose(layer, clamp(state.head + right, 0, columns(layers()[layer]) - 1));
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

  // ── putting it together ──
  const show = () => {
    settle();
    showSentence();
    showTabs();
    showSwitches();
    element("panel").hidden = !reading().roles.length;
    if (!reading().roles.length) return;
    showThumbs();
    showChosen();
  };
  const focused = () => (root.activeElement ?? document.activeElement)?.id;
  const change = (what) => {
    const id = focused();
    Object.assign(state, what);
    stage.forget();
    show();
    remember();
    if (id && element(id)) element(id).focus();
  };

  element("reading").addEventListener("change", (event) => change({ reading: Number(event.target.value) }));
  element("before").addEventListener("click", () => change({ reading: state.reading - 1 }));
  element("after").addEventListener("click", () => change({ reading: state.reading + 1 }));
  element("save").addEventListener("click", () => stage.save(`${state.role}-layer-${state.layer + 1}-head-${state.head + 1}.png`));
  element("tabs").addEventListener("keydown", stepOverTabs);
  element("thumbs").addEventListener("keydown", stepOverHeads);
  onTheme(show);
  recall(recalled);
  show();
  return { speak: (next) => change({ language: next }) };
};
