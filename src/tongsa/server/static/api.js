/** Requests to the server. Errors carry the server's code and, if they are temporary, the seconds until a retry. */
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
  /**
   * @param {string} code the server's code, or one of the page: a key of words.errors
   * @param {{ detail?: string, retryAfter?: number | null, values?: (string | number)[] }} [options] the server's
   *   sentence, the seconds until a retry may succeed, and the values that the page's sentence needs
   */
  constructor(code, { detail = "", retryAfter = null, values = [] } = {}) {
    super(detail || code);
    this.code = code;
    this.detail = detail;
    this.retryAfter = retryAfter;
    this.values = values;
  }

  get isFailure() {
    return FAILURE_CODES.has(this.code);
  }

  get needsKey() {
    return this.code === "no_key" || this.code === "wrong_key";
  }
}

const unreachable = () => new RequestError("unreachable", { retryAfter: DEFAULT_RETRY_SECONDS });

/** @param {Response} response */
const responseError = async (response) => {
  const body = await response.json().catch(() => ({}));
  const seconds = Number(response.headers.get("Retry-After")) || DEFAULT_RETRY_SECONDS;
  const retryAfter = TEMPORARY_STATUSES.has(response.status) ? seconds : null;
  return new RequestError(body.code || "other", { detail: body.error, retryAfter, values: [response.status] });
};

/** @returns {Record<string, string>} */
const authorization = () => {
  const key = loadSetting("key", "");
  return key ? { Authorization: `Bearer ${key}` } : {};
};

/** @param {string} path @param {RequestInit & { headers?: Record<string, string> }} [options] */
export const request = async (path, options = {}) => {
  let response;
  try {
    response = await fetch(path, {
      cache: "no-store",
      ...options,
      headers: { ...options.headers, ...authorization() },
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (!response.ok) throw await responseError(response);
  return response;
};

/** @param {string} path @returns {Promise<any>} */
export const getJSON = async (path) => (await request(path)).json();

/** @param {string} path @param {any} body @param {AbortSignal} [signal] */
const post = (path, body, signal) =>
  request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

/** @param {string} path @param {any} body @param {AbortSignal} [signal] @returns {Promise<any>} */
export const postJSON = async (path, body, signal) => (await post(path, body, signal)).json();

/**
 * Yield the lines of a streamed response as they arrive.
 * @param {string} path
 * @param {any} body
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<any>}
 */
export async function* postStream(path, body, signal) {
  const response = await post(path, { ...body, stream: true }, signal);
  const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      const lines = (rest + (value || "")).split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      for (const line of lines) if (line.trim()) yield parseLine(line);
      if (done) return;
    }
  } catch (error) {
    if (error instanceof TypeError) throw unreachable(); // the connection was lost
    throw error;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {string} text */
const parseLine = (text) => {
  const line = JSON.parse(text);
  if (!line.error) return line;
  throw new RequestError(line.code || "other", {
    detail: line.error,
    retryAfter: TEMPORARY_CODES.has(line.code) ? DEFAULT_RETRY_SECONDS : null,
  });
};
