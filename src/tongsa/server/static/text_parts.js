/** A long text in parts that one request may hold. */
import { codePointOffsets, countCharacters } from "./characters.js";

/** Where a text may be split, best first: after a line, a sentence, a word. */
const SEPARATORS = [/\n/gu, /[.!?…。！？]["'”’)\]]*\s/gu, /\s/gu];

/**
 * Return where to split: after the last full line, else the last sentence, else the last word; 0 if there is none.
 * @param {string} text
 */
const splitPosition = (text) => {
  for (const separator of SEPARATORS) {
    const last = [...text.matchAll(separator)].pop();
    if (last) return last.index + last[0].length;
  }
  return 0;
};

/**
 * Split a text in parts of at most `maxCharacters` characters, at line, sentence or word boundaries if possible.
 * @param {string} text
 * @param {number} maxCharacters
 */
export const splitText = (text, maxCharacters) => {
  const parts = [],
    offsets = codePointOffsets(text),
    length = offsets.length - 1;
  let start = 0;
  while (start < length) {
    let end = Math.min(start + maxCharacters, length);
    if (end < length) {
      const part = text.slice(offsets[start], offsets[end]),
        position = splitPosition(part);
      if (position) end = start + countCharacters(part.slice(0, position));
    }
    parts.push(text.slice(offsets[start], offsets[end]));
    start = end;
  }
  return parts;
};
