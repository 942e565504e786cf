/** Asking the server: its refusals are sentences, and some of them say when to come again. */
import { kept } from "./keeping.js";
import { say } from "./words.js";

const WAIT = 2;
const LATER = new Set([408, 429, 502, 503, 504]);
const PASSING = new Set(["busy", "too_many", "timeout", "failed"]);
/** The codes of refusals in the middle of a stream after which it is worth to ask again. */
const AT_FAULT = new Set(["timeout", "failed"]);
export const TRIES = 3;
/** So often a text that failed is sent again without being asked: the fault may be its own. Who is busy is waited for. */

/** Why the server did not answer: its own sentence, a code, and after how many seconds to try again (or null). */
export class Refusal extends Error {
  constructor(sentence, code, after) {
    super(sentence);
    this.code = code;
    this.after = after;
  }

  /** Whether the text itself may be why. */
  get failed() { return AT_FAULT.has(this.code); }
}

const refused = async (response) => {
  const told = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("Retry-After")) || WAIT;
  return new Refusal(told.error || say().failed(response.status), told.code || "", LATER.has(response.status) ? wait : null);
};

const answered = async (path, options) => {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(say().unreachable, "unreachable", WAIT);
  }
  if (!response.ok) throw await refused(response);
  return response;
};

export const got = async (path) => (await answered(path)).json();

export const ready = async () => { await answered("/readyz"); };

const headers = () => {
  const key = kept("key", "");
  return { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
};
const posted = (path, body, signal) => answered(path, { method: "POST", headers: headers(), body: JSON.stringify(body), signal });

export const asked = async (path, body, signal) => (await posted(path, body, signal)).json();

/** The answer line by line, as it is ready. */
export async function* streamed(path, body, signal) {
  const response = await posted(path, { ...body, stream: true }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      const lines = (rest + (value || "")).split("\n");
      rest = done ? "" : lines.pop();
      for (const line of lines) if (line.trim()) yield told(JSON.parse(line));
      if (done) return;
    }
  } catch (error) {
    if (error instanceof TypeError) throw new Refusal(say().unreachable, "unreachable", WAIT); // the line was cut
    throw error;
  } finally {
    reader.cancel().catch(() => {});
  }
}

const told = (line) => {
  if (line.error) throw new Refusal(line.error, line.code || "", PASSING.has(line.code) ? WAIT : null);
  return line;
};
