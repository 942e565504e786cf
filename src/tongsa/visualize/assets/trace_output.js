/** Cards without tensors: the text and its tokens, the output of a step, and what the search kept. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { signed } from "./format.js";

const card = (id, title, ...children) =>
  make(
    "section",
    { class: "card wide", id, "aria-label": title },
    make("div", { class: "card-head" }, make("h4", { text: title })),
    ...children,
  );
const row = (cells, style = "") => make("tr", { class: style }, ...cells);
const data = (text, style = "") => make("td", { class: style, text });
const table = (titles, rows) =>
  make(
    "div",
    { class: "table", tabindex: 0, role: "group", "aria-label": titles.join(", ") },
    make(
      "table",
      {},
      make("thead", {}, row(titles.map((text) => make("th", { scope: "col", text })))),
      make("tbody", {}, ...rows),
    ),
  );

/** What was not recorded: the end of a text, layers, digits; and how to get other layers. */
const recordedNotes = (app) => {
  const labels = app.labels(),
    { truncated, layers, chosen, all_layers: all = [], precision } = app.store().data.recorded ?? {};
  const others = all.filter((layer) => layers && !layers.includes(layer));
  const notes = [
    truncated ? labels.truncated : "",
    layers ? labels.someLayers(layers.join(", "), all.length) : "",
    precision === "float16" ? labels.halfPrecision : "",
    (layers && !chosen) || precision === "float16" ? labels.tooLarge : "",
    others.length ? labels[app.canEdit() ? "chooseLayer" : "commandForLayers"](others.slice(0, 2).join(",")) : "",
  ];
  return notes.some(Boolean) ? [make("p", { class: "small note", text: notes.filter(Boolean).join(" ") })] : [];
};

/** Text → normalized → tokens → ids. */
export const textCard = (app) => {
  const labels = app.labels(),
    { texts, source } = app.store().data;
  const list = make(
    "dl",
    { class: "texts" },
    ...[
      [labels.text, texts.source],
      [labels.normalized, texts.normalized],
    ]
      .filter(([, text]) => text)
      .flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text })]),
  );
  const tokens = source.tokens.length
    ? [
        table(
          [labels.tokens, ...source.tokens.map(displayToken)],
          [row([make("th", { scope: "row", text: labels.ids }), ...source.ids.map((id) => data(id, "figure"))])],
        ),
      ]
    : [];
  return card("card-text", labels.text, list, ...tokens, ...recordedNotes(app));
};

/** The best path of a search: step → rank of its candidate among those kept. */
export const bestPath = (search) => {
  const ranks = new Map(),
    [best] = search?.finished ?? [];
  if (!best) return ranks;
  for (let [step, rank] = best; step >= 0 && rank !== null && rank !== undefined; step--) {
    ranks.set(step, rank);
    rank = search.steps[step]?.kept[rank]?.parent;
  }
  return ranks;
};

const bar = (share) => {
  const fill = make("span", { class: "bar" });
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return make("td", { class: "bars" }, fill);
};

/** Logits → softmax → five likeliest tokens of the step. */
export const outputCard = (app) => {
  const labels = app.labels(),
    { model, output, target, search } = app.store().data,
    { step } = app.state,
    isLabel = model.task === "classification",
    isGiven = model.task === "language_model", // it reads the text and writes nothing
    chosenText = labels[isLabel ? "chosenLabel" : isGiven ? "inText" : "chosen"];
  const top = output?.top?.[step - 1] ?? [],
    logsumexp = output?.logsumexp?.[step - 1],
    chosen = target.outputs[step - 1];
  const kept = keptTokens(search, step - 1);
  const rows = top.map(({ token, logit, probability }) =>
    row(
      [
        make("th", { scope: "row", text: displayToken(token) }),
        data(signed(logit, 3), "figure"),
        data(`${(probability * 100).toFixed(probability < 0.001 ? 3 : 1)} %`, "figure"),
        bar(probability),
        data(token === chosen ? chosenText : kept.has(token) ? labels.kept : ""),
      ],
      token === chosen ? "best" : "",
    ),
  );
  const note =
    logsumexp === undefined || logsumexp === null
      ? []
      : [
          make("p", {
            class: "small quiet figure",
            text: `${labels.softmaxLine} · logsumexp = ${signed(logsumexp, 3)}`,
          }),
        ];
  const written = target.outputs.slice(0, step).map(displayToken).join(" ");
  return card(
    "card-output",
    isLabel ? labels.topLabels : labels.topFive(step),
    table([isLabel ? labels.label : labels.token, labels.logit, labels.probability, "", labels.fate], rows),
    ...note,
    ...(isLabel ? [] : [make("p", { class: "small", text: `${labels[isGiven ? "given" : "written"]}: ${written}` })]),
  );
};

/** Tokens with which the search went on from the best path at a step. */
const keptTokens = (search, step) => {
  const parent = bestPath(search).get(step - 1) ?? null;
  return new Set(
    (search?.steps?.[step]?.kept ?? []).filter((candidate) => candidate.parent === parent).map(({ token }) => token),
  );
};

/** Prefix of a candidate: its tokens from the first step on. */
export const prefixOf = (search, step, candidate) => {
  const tokens = [candidate.token];
  for (let i = step - 1, { parent } = candidate; i >= 0 && parent !== null && parent !== undefined; i--) {
    const before = search.steps[i]?.kept[parent];
    if (!before) break;
    tokens.unshift(before.token);
    ({ parent } = before);
  }
  return tokens;
};

/** Candidates that the beam search kept and pruned at a step. */
export const searchCard = (app) => {
  const labels = app.labels(),
    { search, texts } = app.store().data,
    { step } = app.state;
  if (!search?.steps?.length)
    return card("card-search", labels.search, make("p", { class: "small quiet", text: labels.noSearch }));
  const current = search.steps[Math.min(step, search.steps.length) - 1],
    best = bestPath(search).get(step - 1);
  const candidate = (item, isKept, rank) =>
    row(
      [
        make("th", {
          scope: "row",
          text: prefixOf(search, step - 1, item)
            .map(displayToken)
            .join(" "),
        }),
        data(signed(item.token_log_prob, 3), "figure"),
        data(signed(item.log_prob, 3), "figure"),
        data(
          [
            isKept ? labels[item.is_finished ? "finished" : "kept"] : labels.pruned, // finished ones leave the beam
            !isKept && item.is_finished ? labels.finished : "",
            isKept && rank === best ? labels.best : "",
          ]
            .filter(Boolean)
            .join(", "),
        ),
      ],
      isKept ? (rank === best ? "best" : "") : "pruned",
    );
  const rows = [
    ...current.kept.map((item, rank) => candidate(item, true, rank)),
    ...current.pruned.map((item) => candidate(item, false, -1)),
  ];
  const open = app.openPanel
    ? [make("button", { type: "button", class: "plain", text: labels.openTree, click: () => app.openPanel("tree") })]
    : [];
  const score =
    texts.score === null || texts.score === undefined
      ? []
      : [
          make("p", {
            class: "small figure",
            text: [
              `${labels.result}: ${texts.output || labels.empty}`,
              `log p ${signed(texts.log_prob, 3)}`,
              `${labels.score} ${signed(texts.score, 3)} (${labels.scoreLine})`,
            ].join(" · "),
          }),
        ];
  return card(
    "card-search",
    labels.searchAt(step, search.beam),
    table([labels.hypothesis, labels.tokenLogProb, labels.logProb, labels.fate], rows),
    ...score,
    ...open,
  );
};
