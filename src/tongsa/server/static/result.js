/** The translation, word by word: each can be pointed at, reached by the arrow keys and asked for other ways. */
import { onLanguage, percent, say } from "./words.js";

const result = document.getElementById("result");
const DOUBTS = [[0.3, "doubt-3"], [0.5, "doubt-2"], [0.7, "doubt-1"]];
/** From which probability down a word is shaded, and how deeply. */

const doubt = (probability) => (probability === null ? "" : (DOUBTS.find(([most]) => probability < most) || ["", ""])[1]);

const wordOf = (sentence, number, word, place) => {
  const made = document.createElement("span");
  made.className = `word ${doubt(word.probability)}`;
  made.textContent = sentence.text.slice(word.begin, word.end);
  made.setAttribute("role", "button");
  made.setAttribute("aria-haspopup", "menu");
  made.tabIndex = number === 0 && place === 0 ? 0 : -1; // one stop for the Tab key; arrows go on from there
  Object.assign(made.dataset, { sentence: number, word: place });
  if (word.probability !== null) made.title = percent(word.probability);
  return made;
};

const sentenceOf = (sentence, number) => {
  const made = document.createElement("span");
  made.className = "sentence";
  made.dataset.sentence = number;
  let at = 0;
  sentence.targetWords.forEach((word, place) => {
    made.append(sentence.text.slice(at, word.begin), wordOf(sentence, number, word, place));
    at = word.end;
  });
  made.append(sentence.text.slice(at));
  return made;
};

/** Draw the sentences found so far; what held the focus holds it again. */
export const show = (text, sentences) => {
  const focused = document.activeElement.closest && document.activeElement.closest("#result .word");
  const parts = [];
  let at = 0;
  sentences.forEach((sentence, number) => {
    parts.push(text.slice(at, sentence.begin), sentenceOf(sentence, number));
    at = sentence.finish;
  });
  result.replaceChildren(...parts);
  if (!focused) return;
  const again = result.querySelector(`.word[data-sentence="${focused.dataset.sentence}"][data-word="${focused.dataset.word}"]`);
  (again || result.querySelector(".word") || document.getElementById("source")).focus();
};

/** Labels and how probable each is, the likeliest first. */
export const showLabels = ({ probabilities }) => {
  const list = document.createElement("ul");
  list.className = "labels";
  for (const [label, probability] of Object.entries(probabilities).sort((one, other) => other[1] - one[1])) {
    const line = document.createElement("li"), name = document.createElement("span"), bar = document.createElement("meter"), share = document.createElement("span");
    name.textContent = label;
    bar.value = probability;
    bar.setAttribute("aria-label", label);
    share.textContent = percent(probability);
    line.append(name, bar, share);
    list.append(line);
  }
  result.replaceChildren(list);
};

/** A text as a language model reads it: each piece shaded by its probability, and the whole in numbers. */
export const showLikelihood = ({ total, pieces }) => {
  const text = document.createElement("p"), facts = document.createElement("p");
  text.append(...pieces.slice(0, -1).map(({ piece, log }, at) => { // the last is </s>
    const made = document.createElement("span");
    made.className = `piece ${doubt(Math.exp(log))}`;
    made.textContent = at ? piece.replaceAll("▁", " ") : piece.replace("▁", "");
    made.title = percent(Math.exp(log));
    return made;
  }));
  facts.className = "quiet small figure";
  facts.textContent = say().likely(total.toFixed(2).replace("-", "−"), Math.exp(-total / pieces.length).toFixed(1));
  result.replaceChildren(text, facts);
};

let hint = "empty";
const showHint = () => {
  const made = document.createElement("p");
  made.className = "quiet hint";
  made.textContent = say()[hint];
  result.replaceChildren(made);
};
export const showNothing = (which = "empty") => {
  hint = which;
  showHint();
};
onLanguage(() => { if (!result.children.length || result.querySelector(".hint")) showHint(); });

const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };
const goal = (key, words, at) => {
  if (key === "Home") return words[0];
  if (key === "End") return words[words.length - 1];
  return STEPS[key] ? words[at + STEPS[key]] : null;
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
  const next = goal(event.key, words, words.indexOf(word));
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
