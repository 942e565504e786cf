/** Words of an output compared with the reference: in the same order, elsewhere in it, or not in it. Pure functions. */

/** @typedef {"same" | "moved" | "extra"} Kind */
/** @typedef {{ word: string, kind: Kind }} ComparedWord */

/** Longer texts are compared without an alignment: the table of a common subsequence has this many cells at most. */
const MAX_CELLS = 250000;

/** Return the words of a text, or its characters for a script without spaces. @param {string} text @param {boolean} spaced */
export const splitText = (text, spaced) =>
  (spaced ? text.split(/\s+/u).filter(Boolean) : Array.from(text).filter((character) => character.trim()));

/**
 * Return for each item of `first` whether it belongs to a longest common subsequence with `second`.
 * @param {string[]} first
 * @param {string[]} second
 * @returns {boolean[]}
 */
export const commonSubsequence = (first, second) => {
  const width = second.length + 1;
  if (first.length * second.length > MAX_CELLS) return first.map((item, i) => item === second[i]);
  const lengths = new Uint16Array((first.length + 1) * width);
  for (let i = first.length - 1; i >= 0; i -= 1) {
    for (let j = second.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = first[i] === second[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const common = first.map(() => false);
  for (let i = 0, j = 0; i < first.length && j < second.length;) {
    if (first[i] === second[j]) {
      common[i] = true;
      i += 1;
      j += 1;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return common;
};

/**
 * Return the words of an output with their relation to a reference. A word counts as often as the reference has it.
 * @param {string} output
 * @param {string} reference
 * @param {boolean} [spaced] false for a script without spaces between words
 * @returns {ComparedWord[]}
 */
export const compareWords = (output, reference, spaced = true) => {
  const [words, expected] = [splitText(output, spaced), splitText(reference, spaced)];
  const common = commonSubsequence(words, expected);
  /** @type {Map<string, number>} */
  const left = new Map();
  for (const word of expected) left.set(word, (left.get(word) ?? 0) + 1);
  words.forEach((word, i) => { if (common[i]) left.set(word, (left.get(word) ?? 0) - 1); });
  return words.map((word, i) => {
    if (common[i]) return { word, kind: "same" };
    const rest = left.get(word) ?? 0;
    left.set(word, rest - 1);
    return { word, kind: rest > 0 ? "moved" : "extra" };
  });
};

/**
 * Join neighbors of the same kind into runs, for shorter markup.
 * @param {ComparedWord[]} words
 * @param {boolean} [spaced]
 * @returns {{ text: string, kind: Kind }[]}
 */
export const joinRuns = (words, spaced = true) => {
  /** @type {{ text: string, kind: Kind }[]} */
  const runs = [];
  for (const { word, kind } of words) {
    const last = runs[runs.length - 1];
    if (last?.kind === kind) last.text += (spaced ? " " : "") + word;
    else runs.push({ text: word, kind });
  }
  return runs;
};
