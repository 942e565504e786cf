/** Requests to the server. Errors carry the server's message and, if temporary, the seconds until a retry. */
import { labels } from "./labels.js";
import { loadSetting } from "./storage.js";

const DEFAULT_RETRY_SECONDS = 2;
const TEMPORARY_STATUSES = new Set([408, 429, 502, 503, 504]);
/** Error codes inside a stream after which a retry may succeed. */
const TEMPORARY_CODES = new Set(["busy", "too_many", "timeout", "failed"]);
/** Error codes that the text itself may cause. */
const FAILURE_CODES = new Set(["timeout", "failed"]);
/** Automatic retries of a text after failures; a busy server is retried without limit. */
export const MAX_RETRIES = 3;

export class RequestError extends Error {
  /** @param retryAfter seconds until a retry may succeed, or null */
  constructor(message, code, retryAfter) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  get isFailure() { return FAILURE_CODES.has(this.code); }
}

const responseError = async (response) => {
  const body = await response.json().catch(() => ({}));
  const seconds = Number(response.headers.get("Retry-After")) || DEFAULT_RETRY_SECONDS;
  const message = body.error || labels().serverError(response.status);
  return new RequestError(message, body.code || "", TEMPORARY_STATUSES.has(response.status) ? seconds : null);
};

const request = async (path, options) => {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(labels().unreachable, "unreachable", DEFAULT_RETRY_SECONDS);
  }
  if (!response.ok) throw await responseError(response);
  return response;
};

export const getJSON = async (path) => (await request(path)).json();

export const checkReady = async () => { await request("/readyz"); };

const headers = () => {
  const key = loadSetting("key", "");
  return { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
};
const post = (path, body, signal) => request(path, { method: "POST", headers: headers(), body: JSON.stringify(body), signal });

export const postJSON = async (path, body, signal) => (await post(path, body, signal)).json();

/** Yield the lines of a streamed response as they arrive. */
export async function* postStream(path, body, signal) {
  const response = await post(path, { ...body, stream: true }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      const lines = (rest + (value || "")).split("\n");
      rest = done ? "" : lines.pop();
      for (const line of lines) if (line.trim()) yield parseLine(line);
      if (done) return;
    }
  } catch (error) {
    if (error instanceof TypeError) throw new RequestError(labels().unreachable, "unreachable", DEFAULT_RETRY_SECONDS); // connection lost
    throw error;
  } finally {
    reader.cancel().catch(() => {});
  }
}

const parseLine = (text) => {
  const line = JSON.parse(text);
  if (line.error) throw new RequestError(line.error, line.code || "", TEMPORARY_CODES.has(line.code) ? DEFAULT_RETRY_SECONDS : null);
  return line;
};
