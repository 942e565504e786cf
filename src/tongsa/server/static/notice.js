/** One line above the text for what goes wrong, in the server's own words, and when it is tried again. */
import { keep } from "./keeping.js";
import { say } from "./words.js";

const element = (id) => document.getElementById(id);
let ticking = 0;
let again = null;

export const calm = () => {
  clearInterval(ticking);
  again = null;
  element("notice").hidden = true;
};

/** Show a sentence; with `seconds` it counts down and then calls `retry`, with `key` it asks for a key first. */
export const warn = (sentence, { seconds = null, retry = null, kind = "error", key = false } = {}) => {
  calm();
  element("key-field").hidden = !key;
  again = retry;
  element("notice").className = kind;
  element("notice").hidden = false;
  element("retry").hidden = !retry || key || kind === "waiting";
  element("notice-text").textContent = sentence;
  if (seconds === null || !retry) return;
  const until = performance.now() + seconds * 1000;
  const tick = () => {
    const left = Math.ceil((until - performance.now()) / 1000);
    if (left <= 0) return tryAgain();
    if (kind !== "waiting") element("notice-text").textContent = `${sentence} ${say().retryIn(left)}`;
  };
  ticking = setInterval(tick, Math.min(500, seconds * 1000));
  tick();
};

const tryAgain = () => {
  const retry = again;
  calm();
  if (retry) retry();
};

const unlock = () => {
  keep("key", element("key").value.trim());
  tryAgain();
};

element("retry").addEventListener("click", tryAgain);
element("key").addEventListener("keydown", (event) => { if (event.key === "Enter") unlock(); });
element("key-use").addEventListener("click", unlock);
