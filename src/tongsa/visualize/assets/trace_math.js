/**
 * Formulas as MathML. The plain form is that of the equation table: `S = Q K^T / sqrt(d_k)`.
 *
 * @typedef {{tag: string, text?: string, children?: Node[]}} Node
 */

const GREEK = {
  alpha: "α",
  beta: "β",
  gamma: "γ",
  delta: "δ",
  epsilon: "ε",
  eta: "η",
  theta: "θ",
  lambda: "λ",
  mu: "μ",
  pi: "π",
  rho: "ρ",
  sigma: "σ",
  tau: "τ",
  phi: "φ",
  omega: "ω",
  Sigma: "Σ",
  Phi: "Φ",
  Delta: "Δ",
};
const OPERATORS = {
  "*": "⊙",
  ".": "·",
  "-": "−",
  sum: "∑",
  prod: "∏",
  infinity: "∞",
  inf: "∞",
  in: "∈",
  leq: "≤",
  geq: "≥",
};
const ACCENTS = { hat: "^", tilde: "~", bar: "¯", vec: "→", back: "←" };
const FENCES = ["(", ")", "[", "]", "|", "‖"];
const TOKENS = /\s+|\d+(?:\.\d+)?|[A-Za-z]+|[{}()[\],_^]|./gu;

const leaf = (tag, text) => ({ tag, text });
const row = (children) => (children.length === 1 ? children[0] : { tag: "mrow", children });

/**
 * Parse a formula; anything that is not part of the grammar is shown as it stands.
 *
 * @returns {Node}
 */
export const parseFormula = (formula) => {
  const tokens = (formula.match(TOKENS) ?? []).filter((token) => token.trim());
  let position = 0;
  const peek = () => tokens[position],
    next = () => tokens[position++];

  const sequence = (ends) => {
    const items = [];
    while (position < tokens.length && !ends.includes(peek())) items.push(scripted());
    return items;
  };
  const closed = (end) => {
    const items = sequence([end]);
    next();
    return items;
  };
  const argument = () => {
    if (peek() === "{") {
      next();
      return row(closed("}"));
    }
    return position < tokens.length ? atom() : leaf("mi", "");
  };
  const call = () => {
    // after "name(": the arguments, separated by commas
    const items = [];
    next();
    do {
      items.push(row(sequence([",", ")"])));
    } while (next() === "," && position < tokens.length);
    return items;
  };
  /** A word that is no function, with space to its neighbors. */
  const word = (text) => {
    const isText = (token) => /^[\p{L}\d]/u.test(token ?? ""),
      before = isText(tokens[position - 2]) ? "\u00a0" : "";
    return leaf("mtext", `${before}${text}${isText(peek()) || peek() === "-" ? "\u00a0" : ""}`);
  };
  const atom = () => {
    const token = next();
    if (peek() === "(") {
      if (token === "sqrt") return { tag: "msqrt", children: call() };
      if (token === "frac") return { tag: "mfrac", children: [...call(), leaf("mi", "")].slice(0, 2) };
      if (Object.hasOwn(ACCENTS, token)) return { tag: "mover", children: [row(call()), leaf("mo", ACCENTS[token])] };
    }
    if (token === "{") return row(closed("}"));
    if (token === "(") return row([leaf("mo", "("), ...closed(")"), leaf("mo", ")")]);
    if (Object.hasOwn(GREEK, token)) return leaf("mi", GREEK[token]);
    if (Object.hasOwn(OPERATORS, token)) return leaf("mo", OPERATORS[token]);
    if (/^\d/.test(token)) return leaf("mn", token);
    if (/^[A-Za-z]{2,}$/.test(token) && peek() !== "(") return word(token);
    return /^\p{L}/u.test(token) ? leaf("mi", token) : leaf("mo", token);
  };
  const scripted = () => {
    const base = atom(),
      scripts = {};
    while (peek() === "_" || peek() === "^") scripts[next()] = argument();
    const limits = base.text === "∑" || base.text === "∏";
    if (scripts._ && scripts["^"])
      return { tag: limits ? "munderover" : "msubsup", children: [base, scripts._, scripts["^"]] };
    if (scripts._) return { tag: limits ? "munder" : "msub", children: [base, scripts._] };
    return scripts["^"] ? { tag: limits ? "mover" : "msup", children: [base, scripts["^"]] } : base;
  };
  return { tag: "math", children: sequence([]) };
};

const NAMESPACE = "http://www.w3.org/1998/Math/MathML";
/** @param {Node} node @returns {Element} */
const build = ({ tag, text, children = [] }) => {
  const element = document.createElementNS(NAMESPACE, tag);
  if (text !== undefined) element.textContent = text;
  // some fonts stretch a fence around a subscript to twice the height of the line
  if (text && FENCES.includes(text)) element.setAttribute("stretchy", "false");
  element.append(...children.map(build));
  return element;
};

/** A formula as a MathML element; its plain form is the name for screen readers. */
export const formulaElement = (formula) => {
  const element = build(parseFormula(formula));
  element.setAttribute("aria-label", formula);
  element.setAttribute("role", "math");
  return element;
};
