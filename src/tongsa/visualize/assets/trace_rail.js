/** Rail: the map of the computation. It follows the scrolling; on a phone it is a strip of chips. */
import { make } from "./dom.js";
import { signed } from "./format.js";
import { cardTitle } from "./trace_card_data.js";
import { isOpen } from "./trace_layout.js";
import { lensAfter, lensAt, lensText } from "./trace_lens.js";
import { matrixOf } from "./trace_tensor.js";

export const stageTitle = (app, { title, title_ko: korean }) => (app.state.language === "ko" && korean) || title;
export const groupTitle = (app, { side, layer, stages }) => {
  const labels = app.labels(),
    name = labels.sides[side] ?? side;
  if (layer !== null) return labels.sideLayer(name, layer);
  const title = stages.length === 1 ? stageTitle(app, stages[0]) : "";
  return title && title !== name ? `${name} · ${title}` : name;
};

/** ‖x‖ of the followed token's row, and its cosine to the same row of the tensor before. */
const biography = async (app, ids) => {
  const { token } = app.state,
    store = app.store(),
    facts = new Map();
  /** @type {Float32Array | null} */
  let before = null;
  for (const id of ids) {
    const meta = store.meta(id),
      part = matrixOf(meta, {});
    if (meta.axes.length !== 2 || meta.labels?.[0] !== token.side || meta.labels?.[1] || token.i >= part.rows)
      continue;
    const { data } = await store.load(id);
    if (!data) continue;
    const row = data.subarray(token.i * part.columns, (token.i + 1) * part.columns);
    const norm = Math.hypot(...row),
      other = before?.length === row.length ? before : null;
    const cosine = other
      ? row.reduce((sum, value, i) => sum + value * other[i], 0) / (norm * Math.hypot(...other))
      : null;
    facts.set(id, `${app.labels().norm} ${norm.toFixed(1)}${cosine === null ? "" : ` · cos ${signed(cosine, 2)}`}`);
    before = row;
  }
  return facts;
};

/** @param {HTMLElement} element */
export const traceRail = (app, element) => {
  let version = 0;
  /** @returns {NodeListOf<HTMLElement>} */
  const tensorButtons = () => element.querySelectorAll(".rail-tensor");
  const entry = (id) => {
    const { shape, axes } = app.store().meta(id),
      size = shape.slice(axes[0] === "head" ? 1 : 0).join("×");
    return make(
      "li",
      {},
      make(
        "button",
        { type: "button", class: "rail-tensor", "data-to": id, click: () => app.goTo(id, null) },
        make("span", { text: cardTitle(app, id) }),
        make("span", { class: "quiet small figure size", text: size }),
      ),
    );
  };
  const stageEntry = (stage) =>
    make(
      "li",
      {},
      make("button", {
        type: "button",
        class: "rail-stage",
        "data-stage": stage.id,
        text: stageTitle(app, stage),
        click: () => app.goToStage(stage.id),
      }),
      make("ul", {}, ...stage.tensors.map(entry)),
    );
  const groupEntry = (group) => {
    const open = isOpen(group, app.groups(), app.state.layer);
    const button = make("button", {
      type: "button",
      class: "rail-group",
      "data-group": group.id,
      "aria-expanded": open,
      click: () => app.goToGroup(group),
    });
    button.append(
      make("span", { text: groupTitle(app, group) }),
      make("span", { class: "quiet small figure lens" }),
    );
    const isSingle = group.stages.length === 1 && group.layer === null;
    return make(
      "li",
      {},
      button,
      ...(open
        ? [make("ul", {}, ...(isSingle ? group.stages[0].tensors.map(entry) : group.stages.map(stageEntry)))]
        : []),
    );
  };
  const show = () => {
    element.setAttribute("aria-label", app.labels().rail);
    element.replaceChildren(make("ul", { class: "rail-list" }, ...app.groups().map(groupEntry)));
    showBiography();
  };
  const showBiography = async () => {
    const current = ++version;
    const facts = app.state.token ? await biography(app, app.store().ids) : new Map();
    if (current !== version) return;
    for (const button of tensorButtons()) {
      const { shape, axes } = app.store().meta(button.dataset.to);
      const size = /** @type {Element} */ (button.lastElementChild);
      const known = [facts.get(button.dataset.to), lensText(lensAt(app, button.dataset.to))].filter(Boolean);
      size.textContent = known.join(" ") || shape.slice(axes[0] === "head" ? 1 : 0).join("×");
    }
    const groups = app.groups();
    element.querySelectorAll(".rail-group .lens").forEach((fact, i) => {
      fact.textContent = lensText(lensAfter(app, groups[i]));
    });
  };
  /** Mark the card at the top of the window. */
  const mark = (id) => {
    for (const button of tensorButtons()) {
      const isCurrent = button.dataset.to === id;
      if (isCurrent) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
      if (isCurrent) scrollInside(element, button);
    }
  };
  return { show, showBiography, mark };
};

/** Scroll a container so that an element in it is visible; the page itself does not move. */
const scrollInside = (container, target) => {
  const outer = container.getBoundingClientRect(),
    inner = target.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    container.scrollTop += inner.top - outer.top - outer.height / 2;
  if (inner.left < outer.left || inner.right > outer.right)
    container.scrollLeft += inner.left - outer.left - outer.width / 3;
};
