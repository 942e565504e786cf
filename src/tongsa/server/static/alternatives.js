/** Alternatives: other translations of a sentence, and other continuations from a word of it. */
import { postJSON } from "./api.js";
import { formatPercent, labels, onLanguageChange, sentenceNotes, unseenWordNotes } from "./labels.js";

const element = (id) => document.getElementById(id);
const menu = element("menu");
const result = element("result");

/**
 * @param session the translation: sentences(), active(), activate(number), request() and choose(number, text)
 */
export const setupAlternatives = (session) => {
  let openWord = null;
  let controller = null;

  // ── the list below the text: the active sentence ──
  const listItem = (text, number) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.dir = "auto";
    button.lang = result.lang;
    button.textContent = text;
    button.addEventListener("click", () => session.choose(number, text));
    item.append(button);
    return item;
  };
  const facts = (sentence) => {
    const { confidence } = sentence, isKnown = typeof confidence === "number";
    const texts = isKnown ? [`${labels().confidence(formatPercent(confidence))}.`] : [];
    return [...texts, ...sentenceNotes(sentence), ...unseenWordNotes(session.sentences())].join(" ");
  };
  const show = () => {
    const sentences = session.sentences(), number = Math.min(session.active(), sentences.length - 1), sentence = sentences[number];
    element("alternatives").hidden = !sentence;
    if (!sentence) return;
    element("alternatives-which").textContent = sentences.length > 1 ? labels().whichSentence(number + 1, sentences.length) : "";
    const candidates = [sentence.original, ...(sentence.alternatives || []).map((alternative) => alternative.text)];
    const texts = [...new Set(candidates)].filter((text) => text && text !== sentence.text);
    element("alternatives-list").replaceChildren(...texts.map((text) => listItem(text, number)));
    element("alternatives-facts").textContent = facts(sentence);
  };

  // ── the menu at a word ──
  const close = () => {
    if (menu.hidden) return;
    menu.hidden = true;
    if (controller) controller.abort();
    if (openWord) openWord.setAttribute("aria-expanded", "false");
    if (menu.contains(document.activeElement) && openWord && openWord.isConnected) openWord.focus();
    openWord = null;
  };
  const placeMenu = () => {
    const { left, bottom, top } = openWord.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = menu;
    const fitsBelow = bottom + 6 + height <= innerHeight || top < height + 6;
    menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8)) + scrollX}px`;
    menu.style.top = `${(fitsBelow ? bottom + 6 : top - height - 6) + scrollY}px`;
  };
  const menuItem = (text, content, onChoose) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", tabIndex: -1, dir: "auto", lang: result.lang, title: text });
    button.setAttribute("role", "menuitem");
    button.append(...content);
    button.addEventListener("click", () => { const word = openWord; close(); onChoose(); focusWord(word); });
    return button;
  };
  /** Focus the word again: drawing the translation has replaced its element. */
  const focusWord = (word) => {
    const redrawn = result.querySelector(`.word[data-sentence="${word.dataset.sentence}"][data-word="${word.dataset.word}"]`);
    (redrawn || result.querySelector(".word"))?.focus();
  };
  const message = (text) => {
    const paragraph = document.createElement("p");
    paragraph.className = "quiet small";
    paragraph.setAttribute("role", "none");
    paragraph.textContent = text;
    return paragraph;
  };
  /** Emphasize the first word after the prefix, in which the continuations differ. */
  const emphasizeFirstWord = (text, prefix) => {
    const start = prefix.trimEnd(), tail = text.startsWith(start) ? text.slice(start.length) : text, first = tail.match(/^\s*\S+/u);
    const strong = document.createElement("b");
    strong.textContent = first ? first[0].trim() : labels().endsHere;
    return [strong, first ? tail.slice(first[0].length) : ""];
  };
  const fill = (content) => {
    menu.replaceChildren(...content);
    placeMenu();
    const first = menu.querySelector("[role=menuitem]");
    if (first) first.focus();
  };
  const open = async (word) => {
    close();
    openWord = word;
    controller = new AbortController();
    const number = Number(word.dataset.sentence), sentence = session.sentences()[number];
    const prefix = sentence.text.slice(0, sentence.targetWords[Number(word.dataset.word)].begin);
    word.setAttribute("aria-expanded", "true");
    menu.hidden = false;
    fill([message(labels().searching)]);
    const { signal } = controller;
    try {
      const { model } = session.request(); // without the glossary, which this path does not accept
      const body = { model, text: sentence.source, prefix };
      const response = await postJSON("/v1/alternatives", body, signal);
      const texts = response.alternatives.map((alternative) => alternative.text).filter((text) => text !== sentence.text);
      if (sentence.original && sentence.original !== sentence.text) texts.push(sentence.original);
      const items = [...new Set(texts)].map((text) => menuItem(text, emphasizeFirstWord(text, prefix), () => session.choose(number, text)));
      fill(items.length ? items : [message(labels().noAlternatives)]);
    } catch (error) {
      if (!signal.aborted) fill([message(error.message)]);
    }
  };

  result.addEventListener("click", (event) => {
    const word = event.target.closest(".word");
    if (word && String(getSelection()) === "") open(word);
  });
  for (const type of ["pointerover", "focusin"]) {
    result.addEventListener(type, (event) => {
      const sentence = event.target.closest(".sentence");
      if (sentence && Number(sentence.dataset.sentence) !== session.active()) session.activate(Number(sentence.dataset.sentence));
    });
  }
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) close(); });
  addEventListener("resize", close);
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("[role=menuitem]")], index = items.indexOf(document.activeElement);
    const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); const word = openWord; close(); word?.focus(); }
    else if (next !== undefined && items.length) { event.preventDefault(); items[(next + items.length) % items.length].focus(); }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !menu.hidden) { const word = openWord; close(); word?.focus(); } });
  onLanguageChange(show);
  return { show };
};
