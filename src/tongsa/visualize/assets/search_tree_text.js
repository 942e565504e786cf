/** Texts about a search: its rules, a hypothesis, the finished outputs. */
import { $, make } from "./dom.js";
import { probability, signed } from "./format.js";
import { prefixText } from "./search_tree_data.js";
import { textRows } from "./texts.js";
import { WORDS } from "./view_words.js";

/** @typedef {import("./types.d.ts").SearchTreeResponse} Tree */
/** @typedef {import("./search_tree_data.js").TreeNode} TreeNode */
/** @typedef {typeof import("./view_words_en.js").english.tree} Words */

/**
 * Return the formula of the score, as text.
 * @param {Words} words
 * @param {Tree} tree
 */
export const scoreFormula = ({ scoreName, logProbName, lengthName }, { alpha, length_normalization: kind }) => {
  const exponent = Number(alpha.toFixed(4));
  if (kind === "none" || !exponent) return `${scoreName} = ${logProbName}`;
  const penalty = kind === "gnmt" ? `((5 + ${lengthName}) / 6)` : lengthName;
  return `${scoreName} = ${logProbName} / ${penalty}^${exponent}`;
};

/** Return the rules of the search as list items. @param {Words} words @param {Tree} tree */
export const ruleItems = (words, tree) => {
  const formula = make("span", { class: "equation", text: scoreFormula(words, tree) });
  const items = [
    make("li", { text: words.beamRule(tree.beam) }),
    make("li", { text: words.finishedRule(tree.beam) }),
    make("li", {}, words.scoreRule(Number(tree.alpha.toFixed(4))), " ", formula),
  ];
  if (tree.coverage_penalty) items.push(make("li", { text: words.coverageRule(tree.coverage_penalty) }));
  return items;
};

/**
 * Return the score of a prefix; a finished one has its own, coverage penalty included.
 * @param {Tree} tree
 * @param {TreeNode} node
 */
export const scoreOf = (tree, { data, step }) => data.score ?? data.ranking_score / tree.steps[step].length_penalty;

/** Return the score with the numbers it is made of. @param {Tree} tree @param {TreeNode} node */
export const scoreSteps = (tree, node) => {
  const penalty = tree.steps[node.step].length_penalty,
    ranking = node.data.ranking_score,
    score = scoreOf(tree, node);
  const coverage = ranking / penalty - score; // only finished outputs have a coverage penalty
  const suffix = Math.abs(coverage) > 1e-3 ? ` − ${signed(coverage)}` : "";
  return `${signed(score)} = ${signed(ranking)} / ${penalty.toFixed(3)}${suffix}`;
};

/**
 * Return where a hypothesis stands: among the alive ones of its step, among the finished ones, or pruned.
 * @param {Words} words
 * @param {TreeNode} node
 * @param {TreeNode[]} column all nodes of the step
 * @param {TreeNode[]} finished best first
 */
export const standing = (words, node, column, finished) => {
  const counts = (lane) => column.filter((other) => other.lane === lane).length;
  const rank = {
    root: () => "",
    alive: () => words.aliveRank(node.row + 1, counts("alive"), node.step + 1),
    finished: () => words.finishedRank(finished.indexOf(node) + 1, finished.length),
    pruned: () => words.gap(Number(node.data.gap)),
  }[node.lane]();
  return `${rank} (${words.stepCounts(counts("alive"), counts("finished"))})`;
};

const fact = (name, value) => make("span", {}, `${name} `, make("b", { text: value }));

/**
 * Return the description of a hypothesis.
 * @param {Words} words
 * @param {Tree} tree
 * @param {TreeNode} node
 * @param {TreeNode[]} column
 * @param {TreeNode[]} finished
 */
export const describeNode = (words, tree, node, column, finished) => {
  if (node.lane === "root") {
    return [make("div", { class: "prefix", text: "<s>" }), make("div", { class: "facts", text: words.root })];
  }
  const {
    token,
    token_log_prob: tokenLogProb,
    log_prob: logProb,
    ranking_score: ranking,
    is_finished: isFinished,
  } = node.data;
  const facts = [
    fact(words.tokenProbability, `${probability(tokenLogProb)} (log ${signed(tokenLogProb)})`),
    fact(words.logProb, signed(logProb)),
  ];
  if (Math.abs(ranking - logProb) > 1e-3) facts.push(fact(words.rankingScore, signed(ranking)));
  facts.push(
    fact(words.score, scoreSteps(tree, node)),
    make("span", { text: standing(words, node, column, finished) }),
  );
  const text = prefixText(node) || (isFinished ? words.empty : token);
  return [
    make(
      "div",
      { class: "prefix" },
      make("bdi", { text }),
      make("span", { class: "new", text: isFinished ? " </s>" : "" }),
    ),
    make("div", { class: "facts" }, ...facts),
  ];
};

/**
 * Return the parts of the table of finished outputs.
 * @param {Words} words
 * @param {Tree} tree
 * @param {TreeNode[]} finished
 * @param {(node: TreeNode) => void} onSelect
 */
export const finishedTable = (words, tree, finished, onSelect) => {
  const titles = words.columns.map((text, i) =>
    make(i ? "th" : "td", { ...(i ? { scope: "col" } : {}), class: i === 1 ? "output" : "", text }),
  );
  const rows = finished.map((node, i) => {
    const button = make("button", {
      type: "button",
      dir: "auto",
      text: prefixText(node) || words.empty,
      click: () => onSelect(node),
    });
    const penalty = tree.steps[node.step].length_penalty;
    const numbers = [
      String(node.step + 1),
      signed(node.data.log_prob),
      penalty.toFixed(3),
      signed(scoreOf(tree, node)),
    ];
    const cells = [
      make("td", { text: i + 1 }),
      make("td", { class: "output" }, button),
      ...numbers.map((text) => make("td", { text })),
    ];
    return make("tr", { class: i ? "" : "best" }, ...cells);
  });
  const note = words.lengthNote + (finished.length > tree.beam ? words.comparedNote(tree.beam) : "");
  return [
    make("caption", { class: "quiet small", text: note }),
    make("thead", {}, make("tr", {}, ...titles)),
    make("tbody", {}, ...rows),
  ];
};

/**
 * Show the texts of the panel: source, rules, legend, why the search stopped, finished outputs.
 * @param {ShadowRoot | HTMLElement} root
 * @param {import("./search_tree_data.js").TreeModel} model
 * @param {{language: string, hasHeader?: boolean, onSelect: (node: TreeNode) => void}} options
 */
export const showTreeTexts = (root, { tree, finished, best, layout }, { language, hasHeader, onSelect }) => {
  const { page, tree: words } = WORDS[language],
    element = (/** @type {string} */ id) => $(id, root);
  const notes = [tree.truncated && words.truncated, tree.beam_groups > 1 && words.beamGroups(tree.beam_groups)];
  const texts = {
    text: tree.text,
    translation: tree.translation || words.empty,
    is_label: false,
    reference: "",
    score: null,
  };
  element("texts").replaceChildren(...(hasHeader ? [] : textRows(texts, page)));
  element("note").textContent = notes.filter(Boolean).join(" ");
  element("rules").replaceChildren(...ruleItems(words, tree));
  element("tree-title").textContent = words.title;
  element("marks").replaceChildren(...Object.entries(words.marks).map(legendItem));
  element("hint").textContent = words.hint;
  element("stage").setAttribute("aria-label", words.stage);
  element("finished-lane").textContent = words.finishedLane;
  if (layout.hasPruned) element("pruned-lane").textContent = words.prunedLane;
  element("stop-title").textContent = words.stopTitle;
  const bound = tree.score_bound === null ? "" : signed(tree.score_bound);
  /** @type {(tree: Tree, best: string, bound: string) => string} */
  const stopReason = words.stopReason[tree.stop_reason];
  element("stop").textContent = stopReason(tree, signed(scoreOf(tree, best)), bound);
  element("finished-title").textContent = words.finishedTitle;
  element("finished").replaceChildren(...finishedTable(words, tree, finished, onSelect));
};

const legendItem = ([style, text]) =>
  make("li", {}, make("i", { class: style, "aria-hidden": "true", text: style === "pruned" ? "−0.42" : "" }), text);
