/** The notice above the text: the server's error message, a countdown to the next retry, a field for the API key. */
import { labels } from "./labels.js";
import { saveSetting } from "./storage.js";

const element = (id) => document.getElementById(id);
let countdown = 0;
let pendingRetry = null;

export const hideNotice = () => {
  clearInterval(countdown);
  pendingRetry = null;
  element("notice").hidden = true;
};

/** Show a message. With `seconds` it counts down and calls `retry`; with `needsKey` it asks for a key first. */
export const showNotice = (message, { seconds = null, retry = null, kind = "error", needsKey = false } = {}) => {
  hideNotice();
  element("key-field").hidden = !needsKey;
  pendingRetry = retry;
  element("notice").className = kind;
  element("notice").hidden = false;
  element("retry").hidden = !retry || needsKey || kind === "waiting";
  element("notice-text").textContent = message;
  if (seconds === null || !retry) return;
  const deadline = performance.now() + seconds * 1000;
  const tick = () => {
    const left = Math.ceil((deadline - performance.now()) / 1000);
    if (left <= 0) retryNow();
    else if (kind !== "waiting") element("notice-text").textContent = `${message} ${labels().retryIn(left)}`;
  };
  countdown = setInterval(tick, Math.min(500, seconds * 1000));
  tick();
};

const retryNow = () => {
  const retry = pendingRetry;
  hideNotice();
  if (retry) retry();
};

const useKey = () => {
  saveSetting("key", element("key").value.trim());
  retryNow();
};

element("retry").addEventListener("click", retryNow);
element("key").addEventListener("keydown", (event) => { if (event.key === "Enter") useKey(); });
element("key-use").addEventListener("click", useKey);
