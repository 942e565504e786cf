/** The result: words of a translation that can be pointed at, focused and opened; labels; token probabilities. */
import { formatPercent, labels, onLanguageChange } from "./labels.js";

const result = document.getElementById("result");
/** Probability below which a word is marked as uncertain, and the class of the mark. */
const UNCERTAIN = [[0.3, "uncertain-3"], [0.5, "uncertain-2"], [0.7, "uncertain-1"]];

const uncertainClass = (probability) => (probability === null ? "" : (UNCERTAIN.find(([limit]) => probability < limit) || ["", ""])[1]);

const makeWord = (sentence, number, word, index) => {
  const span = document.createElement("span");
  span.className = `word ${uncertainClass(word.probability)}`;
  span.textContent = sentence.text.slice(word.begin, word.end);
  span.setAttribute("role", "button");
  span.setAttribute("aria-haspopup", "menu");
  span.tabIndex = number === 0 && index === 0 ? 0 : -1; // one tab stop; arrow keys move between words
  Object.assign(span.dataset, { sentence: number, word: index });
  if (word.probability !== null) span.title = formatPercent(word.probability);
  return span;
};

const makeSentence = (sentence, number) => {
  const span = document.createElement("span");
  span.className = "sentence";
  span.dataset.sentence = number;
  let offset = 0;
  sentence.targetWords.forEach((word, index) => {
    span.append(sentence.text.slice(offset, word.begin), makeWord(sentence, number, word, index));
    offset = word.end;
  });
  span.append(sentence.text.slice(offset));
  return span;
};

/** Draw the sentences so far and restore the focus. */
export const showTranslation = (text, sentences) => {
  const focused = document.activeElement.closest && document.activeElement.closest("#result .word");
  const parts = [];
  let offset = 0;
  sentences.forEach((sentence, number) => {
    parts.push(text.slice(offset, sentence.begin), makeSentence(sentence, number));
    offset = sentence.end;
  });
  result.replaceChildren(...parts);
  if (!focused) return;
  const redrawn = result.querySelector(`.word[data-sentence="${focused.dataset.sentence}"][data-word="${focused.dataset.word}"]`);
  (redrawn || result.querySelector(".word") || document.getElementById("source")).focus();
};

/** Draw the labels with their probabilities, likeliest first. */
export const showLabels = ({ probabilities }) => {
  const list = document.createElement("ul");
  list.className = "labels";
  for (const [label, probability] of Object.entries(probabilities).sort((first, second) => second[1] - first[1])) {
    const line = document.createElement("li"), name = document.createElement("span"), bar = document.createElement("meter"), share = document.createElement("span");
    name.textContent = label;
    bar.value = probability;
    bar.setAttribute("aria-label", label);
    share.textContent = formatPercent(probability);
    line.append(name, bar, share);
    list.append(line);
  }
  result.replaceChildren(list);
};

/** Draw a text as a language model scores it: tokens marked by their probability, log-probability and perplexity. */
export const showScore = ({ log_prob: logProb, tokens }) => {
  const text = document.createElement("p"), facts = document.createElement("p");
  text.append(...tokens.slice(0, -1).map(({ token, log_prob: tokenLogProb }, index) => { // the last is </s>
    const span = document.createElement("span");
    span.className = `token ${uncertainClass(Math.exp(tokenLogProb))}`;
    span.textContent = index ? token.replaceAll("▁", " ") : token.replace("▁", "");
    span.title = formatPercent(Math.exp(tokenLogProb));
    return span;
  }));
  facts.className = "quiet small figure";
  facts.textContent = labels().score(logProb.toFixed(2).replace("-", "−"), Math.exp(-logProb / tokens.length).toFixed(1));
  result.replaceChildren(text, facts);
};

let hint = "empty";
const drawHint = () => {
  const paragraph = document.createElement("p");
  paragraph.className = "quiet hint";
  paragraph.textContent = labels()[hint];
  result.replaceChildren(paragraph);
};
export const showHint = (label) => {
  hint = label;
  drawHint();
};
onLanguageChange(() => { if (!result.children.length || result.querySelector(".hint")) drawHint(); });

const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };
const nextWord = (key, words, index) => {
  if (key === "Home") return words[0];
  if (key === "End") return words[words.length - 1];
  return STEPS[key] ? words[index + STEPS[key]] : null;
};
result.addEventListener("keydown", (event) => {
  const word = event.target.closest(".word");
  if (!word || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    word.click();
    return;
  }
  const words = [...result.querySelectorAll(".word")];
  const next = nextWord(event.key, words, words.indexOf(word));
  if (!next) return;
  event.preventDefault();
  next.focus();
});
result.addEventListener("focusin", (event) => {
  const word = event.target.closest(".word");
  if (!word) return;
  for (const other of result.querySelectorAll('.word[tabindex="0"]')) other.tabIndex = -1;
  word.tabIndex = 0;
});
