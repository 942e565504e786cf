/** Other translations of a sentence, and other ways to go on from one of its words. */
import { asked } from "./server.js";
import { onLanguage, percent, say } from "./words.js";

const element = (id) => document.getElementById(id);
const menu = element("menu");
const result = element("result");

/**
 * @param session what is translated: sentences(), active(), request() and choose(number, text)
 */
export const alternatives = (session) => {
  let opener = null;
  let asking = null;

  // ── the list below: the sentence that was last pointed at ──
  const listed = (text, number) => {
    const line = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.dir = "auto";
    button.lang = result.lang;
    button.textContent = text;
    button.addEventListener("click", () => session.choose(number, text));
    line.append(button);
    return line;
  };
  const facts = ({ confidence, flags = [], cut, retried }) => {
    const told = flags.map((flag) => say().flags[flag] || flag);
    if (cut) told.push(say().flags.cut);
    if (retried) told.push(say().flags.retried);
    if (typeof confidence === "number") told.unshift(`${say().confidence(percent(confidence))}.`);
    return told.join(" ");
  };
  const show = () => {
    const sentences = session.sentences(), number = Math.min(session.active(), sentences.length - 1), sentence = sentences[number];
    element("alternatives").hidden = !sentence;
    if (!sentence) return;
    element("alternatives-which").textContent = sentences.length > 1 ? say().which(number + 1, sentences.length) : "";
    const others = [sentence.first, ...(sentence.alternatives || []).map((one) => one.text)];
    const different = [...new Set(others)].filter((text) => text && text !== sentence.text);
    element("alternatives-list").replaceChildren(...different.map((text) => listed(text, number)));
    element("alternatives-facts").textContent = facts(sentence);
  };

  // ── the menu at a word ──
  const close = () => {
    if (menu.hidden) return;
    menu.hidden = true;
    if (asking) asking.abort();
    if (opener) opener.setAttribute("aria-expanded", "false");
    if (menu.contains(document.activeElement) && opener && opener.isConnected) opener.focus();
    opener = null;
  };
  const stand = () => {
    const { left, bottom, top } = opener.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = menu;
    const below = bottom + 6 + height <= innerHeight || top < height + 6;
    menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8)) + scrollX}px`;
    menu.style.top = `${(below ? bottom + 6 : top - height - 6) + scrollY}px`;
  };
  const item = (text, shown, chosen) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", tabIndex: -1, dir: "auto", lang: result.lang, title: text });
    made.setAttribute("role", "menuitem");
    made.append(...shown);
    made.addEventListener("click", () => { const word = opener; close(); chosen(); focusAgain(word); });
    return made;
  };
  const focusAgain = (word) => {
    const again = result.querySelector(`.word[data-sentence="${word.dataset.sentence}"][data-word="${word.dataset.word}"]`);
    (again || result.querySelector(".word"))?.focus();
  };
  const message = (sentence) => {
    const made = document.createElement("p");
    made.className = "quiet small";
    made.setAttribute("role", "none");
    made.textContent = sentence;
    return made;
  };
  /** The first word, by which the ways differ, stands out; the rest follows quietly. */
  const headed = (text, prefix) => {
    const begun = prefix.trimEnd(), tail = text.startsWith(begun) ? text.slice(begun.length) : text, first = tail.match(/^\s*\S+/u);
    const strong = document.createElement("b");
    strong.textContent = first ? first[0].trim() : say().endsHere;
    return [strong, first ? tail.slice(first[0].length) : ""];
  };
  const fill = (parts) => {
    menu.replaceChildren(...parts);
    stand();
    const first = menu.querySelector("[role=menuitem]");
    if (first) first.focus();
  };
  const open = async (word) => {
    close();
    opener = word;
    asking = new AbortController();
    const number = Number(word.dataset.sentence), sentence = session.sentences()[number];
    const prefix = sentence.text.slice(0, sentence.targetWords[Number(word.dataset.word)].begin);
    word.setAttribute("aria-expanded", "true");
    menu.hidden = false;
    fill([message(say().searching)]);
    const signal = asking.signal;
    try {
      const { model } = session.request(); // no terms: this address knows none
      const body = { model, text: sentence.source, prefix };
      const found = await asked("/v1/alternatives", body, signal);
      const ways = found.alternatives.map((one) => one.text).filter((text) => text !== sentence.text);
      if (sentence.first && sentence.first !== sentence.text) ways.push(sentence.first);
      const items = [...new Set(ways)].map((text) => item(text, headed(text, prefix), () => session.choose(number, text)));
      fill(items.length ? items : [message(say().noOther)]);
    } catch (error) {
      if (!signal.aborted) fill([message(error.message)]);
    }
  };

  result.addEventListener("click", (event) => {
    const word = event.target.closest(".word");
    if (word && String(getSelection()) === "") open(word);
  });
  for (const kind of ["pointerover", "focusin"]) {
    result.addEventListener(kind, (event) => {
      const made = event.target.closest(".sentence");
      if (made && Number(made.dataset.sentence) !== session.active()) session.activate(Number(made.dataset.sentence));
    });
  }
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) close(); });
  addEventListener("resize", close);
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("[role=menuitem]")], at = items.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); const word = opener; close(); word?.focus(); }
    else if (next !== undefined && items.length) { event.preventDefault(); items[(next + items.length) % items.length].focus(); }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !menu.hidden) { const word = opener; close(); word?.focus(); } });
  onLanguage(show);
  return { show, close };
};
