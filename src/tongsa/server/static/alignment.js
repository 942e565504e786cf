/** Which word came from which: shown on both sides when either is pointed at, focused, or holds the caret. */

const mirror = document.getElementById("mirror");
const source = document.getElementById("source");
const result = document.getElementById("result");
let sentences = [];
let lit = [];

const make = (name, text, data) => {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  Object.assign(made.dataset, data);
  return made;
};

/** The text behind the text area, letter upon letter; its words can be pointed at and lit. */
export const reflect = (text, found) => {
  sentences = found;
  lit = [];
  const parts = [];
  let at = 0;
  found.forEach((sentence, number) => {
    if (!sentence.whole) return;
    sentence.sourceWords.forEach((word, place) => {
      const begin = sentence.begin + word.begin, end = sentence.begin + word.end;
      if (begin < at) return;
      parts.push(text.slice(at, begin), make("source-word", text.slice(begin, end), { sentence: number, word: place }));
      at = end;
    });
  });
  // a last empty line has no height without something in it
  mirror.replaceChildren(...parts, `${text.slice(at)}\u200b`);
};

const dim = () => {
  for (const made of lit) made.classList.remove("lit", "pointed");
  lit = [];
};

const wordAt = (side, sentence, word) => side.querySelector(`[data-sentence="${sentence}"][data-word="${word}"]`);

/** Light a word of one side and what it is linked to on the other. */
const light = (side, number, place) => {
  dim();
  const sentence = sentences[number];
  if (!sentence) return;
  const fromSource = side === mirror, other = fromSource ? result : mirror;
  const linked = sentence.links.filter((link) => link[fromSource ? 0 : 1] === place).map((link) => link[fromSource ? 1 : 0]);
  const own = wordAt(side, number, place), partners = linked.map((word) => wordAt(other, number, word)).filter(Boolean);
  if (own) own.classList.add("pointed");
  for (const made of partners) made.classList.add("lit");
  lit = [own, ...partners].filter(Boolean);
};

const lightWord = (side, made) => (made ? light(side, Number(made.dataset.sentence), Number(made.dataset.word)) : dim());

/** The area lies over the mirror and takes every event: what is under the pointer is asked for by its place. */
const under = (event) => document.elementsFromPoint(event.clientX, event.clientY).find((made) => made.classList.contains("source-word"));

const underCaret = () => {
  const caret = source.selectionStart;
  for (const [number, sentence] of sentences.entries()) {
    if (!sentence.whole) continue;
    const place = sentence.sourceWords.findIndex((word) => sentence.begin + word.begin <= caret && caret <= sentence.begin + word.end);
    if (place >= 0) return wordAt(mirror, number, place);
  }
  return null;
};

source.addEventListener("pointermove", (event) => lightWord(mirror, under(event)));
source.addEventListener("pointerleave", dim);
source.addEventListener("blur", dim);
document.addEventListener("selectionchange", () => { if (document.activeElement === source) lightWord(mirror, underCaret()); });
for (const kind of ["pointerover", "focusin"]) {
  result.addEventListener(kind, (event) => lightWord(result, event.target.closest(".word")));
}
result.addEventListener("pointerleave", dim);
result.addEventListener("focusout", dim);
