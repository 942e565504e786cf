/** The server counts characters as Unicode does, JavaScript in UTF-16 units: 😀 is one there and two here. */

/** Where the n-th character begins in a string; the last entry is its length. */
export const places = (text) => {
  const found = [0];
  for (const character of text) found.push(found[found.length - 1] + character.length);
  return found;
};

export const count = (text) => {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
};
