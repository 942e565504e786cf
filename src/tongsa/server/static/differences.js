/** Differences between two texts, word by word. */

/**
 * Lengths of the longest common subsequences of all ends of two lists.
 * @param {string[]} first
 * @param {string[]} second
 */
const commonLengths = (first, second) => {
  const lengths = Array.from({ length: first.length + 1 }, () => new Array(second.length + 1).fill(0));
  for (let i = first.length - 1; i >= 0; i -= 1) {
    for (let j = second.length - 1; j >= 0; j -= 1) {
      lengths[i][j] =
        first[i] === second[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
};

/**
 * Return the words of a text, each with whether it is new compared with an earlier text.
 * @param {string} earlier
 * @param {string} text
 * @returns {{ word: string, isChanged: boolean }[]}
 */
export const changedWords = (earlier, text) => {
  const before = earlier.split(/\s+/u).filter(Boolean),
    after = text.split(/\s+/u).filter(Boolean);
  const lengths = commonLengths(before, after),
    words = [];
  for (let i = 0, j = 0; j < after.length;) {
    if (i < before.length && before[i] === after[j]) {
      words.push({ word: after[j], isChanged: false });
      i += 1;
      j += 1;
    } else if (i < before.length && lengths[i + 1][j] >= lengths[i][j + 1]) i += 1;
    else {
      words.push({ word: after[j], isChanged: true });
      j += 1;
    }
  }
  return words;
};
