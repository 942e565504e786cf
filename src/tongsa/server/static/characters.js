/** The server counts Unicode code points, JavaScript counts UTF-16 units: 😀 is one there and two here. */

/** Return the UTF-16 offset of each code point; the last entry is the length. @param {string} text */
export const codePointOffsets = (text) => {
  const offsets = [0];
  for (const character of text) offsets.push(offsets[offsets.length - 1] + character.length);
  return offsets;
};

/** @param {string} text */
export const countCharacters = (text) => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};
