/** Tokens of a language model as text to read. */
import { SPACE } from "./format.js";

const BYTE = /^<0x([0-9A-F]{2})>$/u;

/**
 * Return tokens as text. Consecutive byte tokens are one character; its log-probability is their sum.
 * @param {{ token: string, log_prob: number }[]} tokens
 * @returns {{ text: string, log_prob: number }[]}
 */
export const joinByteTokens = (tokens) => {
  /** @type {{ text: string, log_prob: number }[]} */
  const joined = [];
  /** @type {{ bytes: number[], log_prob: number }} */
  let run = { bytes: [], log_prob: 0 };
  const flush = () => {
    if (run.bytes.length)
      joined.push({ text: new TextDecoder().decode(new Uint8Array(run.bytes)), log_prob: run.log_prob });
    run = { bytes: [], log_prob: 0 };
  };
  for (const { token, log_prob: logProb } of tokens) {
    const byte = token.match(BYTE);
    if (byte) {
      run = { bytes: [...run.bytes, parseInt(byte[1], 16)], log_prob: run.log_prob + logProb };
      continue;
    }
    flush();
    joined.push({ text: joined.length ? token.replaceAll(SPACE, " ") : token.replace(SPACE, ""), log_prob: logProb });
  }
  flush();
  return joined;
};
