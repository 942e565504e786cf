/** Word alignment: the word under the pointer, the focus or the caret and its linked words are highlighted. */

const mirror = document.getElementById("mirror");
const source = document.getElementById("source");
const result = document.getElementById("result");
let sentences = [];
let highlighted = [];

const makeSpan = (className, text, data) => {
  const span = document.createElement("span");
  span.className = className;
  span.textContent = text;
  Object.assign(span.dataset, data);
  return span;
};

/** Draw the source text again behind the text area, exactly aligned with it, with a span for each word. */
export const drawMirror = (text, newSentences) => {
  sentences = newSentences;
  highlighted = [];
  const parts = [];
  let offset = 0;
  sentences.forEach((sentence, number) => {
    if (!sentence.isUnchanged) return;
    sentence.sourceWords.forEach((word, index) => {
      const begin = sentence.begin + word.begin, end = sentence.begin + word.end;
      if (begin < offset) return;
      parts.push(text.slice(offset, begin), makeSpan("source-word", text.slice(begin, end), { sentence: number, word: index }));
      offset = end;
    });
  });
  // an empty last line has no height without a character in it
  mirror.replaceChildren(...parts, `${text.slice(offset)}\u200b`);
};

const clearHighlights = () => {
  for (const word of highlighted) word.classList.remove("linked", "selected");
  highlighted = [];
};

const findWord = (side, sentence, word) => side.querySelector(`[data-sentence="${sentence}"][data-word="${word}"]`);

const highlight = (side, number, index) => {
  clearHighlights();
  const sentence = sentences[number];
  if (!sentence) return;
  const isSource = side === mirror, otherSide = isSource ? result : mirror;
  const links = sentence.links.filter((link) => link[isSource ? 0 : 1] === index).map((link) => link[isSource ? 1 : 0]);
  const selected = findWord(side, number, index), linked = links.map((word) => findWord(otherSide, number, word)).filter(Boolean);
  if (selected) selected.classList.add("selected");
  for (const word of linked) word.classList.add("linked");
  highlighted = [selected, ...linked].filter(Boolean);
};

const highlightWord = (side, word) => (word ? highlight(side, Number(word.dataset.sentence), Number(word.dataset.word)) : clearHighlights());

/** The text area is above the mirror and receives all events, so the word is found by the pointer's position. */
const wordUnderPointer = (event) => document.elementsFromPoint(event.clientX, event.clientY).find((node) => node.classList.contains("source-word"));

const wordAtCaret = () => {
  const caret = source.selectionStart;
  for (const [number, sentence] of sentences.entries()) {
    if (!sentence.isUnchanged) continue;
    const index = sentence.sourceWords.findIndex((word) => sentence.begin + word.begin <= caret && caret <= sentence.begin + word.end);
    if (index >= 0) return findWord(mirror, number, index);
  }
  return null;
};

source.addEventListener("pointermove", (event) => highlightWord(mirror, wordUnderPointer(event)));
source.addEventListener("pointerleave", clearHighlights);
source.addEventListener("blur", clearHighlights);
document.addEventListener("selectionchange", () => { if (document.activeElement === source) highlightWord(mirror, wordAtCaret()); });
for (const type of ["pointerover", "focusin"]) {
  result.addEventListener(type, (event) => highlightWord(result, event.target.closest(".word")));
}
result.addEventListener("pointerleave", clearHighlights);
result.addEventListener("focusout", clearHighlights);
