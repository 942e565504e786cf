/** The request behind what the page shows, as curl and as Python. */
import { $ } from "./dom.js";
import { requestBase, taskOf } from "./state.js";

/** Return path and body of the request for the whole text. @param {import("./state.js").State} state */
export const currentRequest = (state) =>
  taskOf(state) === "classification"
    ? { path: "/v1/classify", body: { model: state.model, text: state.text } }
    : {
        path: "/v1/translate",
        body: { ...requestBase(state), text: state.text, alignments: true, word_probabilities: true },
      };

/** Quote a text for a POSIX shell. @param {string} text */
export const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {string} origin @param {{ path: string, body: any }} request */
export const curlCommand = (origin, { path, body }) =>
  [
    `curl ${shellQuote(origin + path)}`,
    "-H 'Content-Type: application/json'",
    `-d ${shellQuote(JSON.stringify(body))}`,
  ].join(" \\\n  ");

/** Return a value as Python writes it; a JSON string is a Python string. @param {any} value @returns {string} */
const pythonLiteral = (value) => {
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object" && value) {
    return `{${Object.entries(value)
      .map(([key, inner]) => `${JSON.stringify(key)}: ${pythonLiteral(inner)}`)
      .join(", ")}}`;
  }
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
};

/** @param {string} origin @param {{ path: string, body: any }} request */
export const pythonCode = (origin, { path, body }) =>
  [
    "import json",
    "from urllib.request import Request, urlopen",
    "",
    "body = {",
    ...Object.entries(body).map(([key, value]) => `    ${JSON.stringify(key)}: ${pythonLiteral(value)},`),
    "}",
    `url, headers = ${JSON.stringify(origin + path)}, {"Content-Type": "application/json"}`,
    "with urlopen(Request(url, json.dumps(body).encode(), headers)) as response:",
    "    print(json.load(response))",
  ].join("\n");

/** @param {Document} root @param {import("./state.js").PageStore} store */
export const mountRequestPanel = (root, store) => {
  $("request-open", root).addEventListener("click", () => {
    const request = currentRequest(store.get());
    $("request-curl", root).textContent = curlCommand(location.origin, request);
    $("request-python", root).textContent = pythonCode(location.origin, request);
    $("request", root).showModal();
  });
  for (const name of ["curl", "python"]) {
    $(`copy-${name}`, root).addEventListener("click", () =>
      navigator.clipboard?.writeText($(`request-${name}`, root).textContent ?? "").catch(() => {}),
    );
  }
};
