/** Matrices of attention: unpacked when they are first looked at, put together into words, thinned for small pictures. */

export const inflated = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint16Array(await new Response(stream).arrayBuffer());
};

const opened = new WeakMap(); // layer → its grains, all heads one behind the other
const grainsOf = (layer) => {
  if (!opened.has(layer)) opened.set(layer, inflated(layer.packed));
  return opened.get(layer);
};

/** The weights of one head, or with `head` = their number of the mean of all, (query × key). */
export const weightsOf = async (role, layer, head, unit, grain) => {
  const grains = await grainsOf(layer), { queries, keys } = role.pieces, size = queries.length * keys.length;
  const made = head < layer.count ? meanOf(grains.subarray(head * size, (head + 1) * size), size, grain) : meanOf(grains, size, layer.count * grain);
  return unit === "pieces" ? made : merged(made, queries.length, keys.length, role.words);
};

// plain loops: with 512 pieces these run over millions of numbers
const meanOf = (grains, size, divisor) => {
  const sum = new Float32Array(size);
  for (let begin = 0; begin < grains.length; begin += size) for (let i = 0; i < size; i++) sum[i] += grains[begin + i];
  for (let i = 0; i < size; i++) sum[i] /= divisor;
  return sum;
};

/** Piece → the number of its word. */
const wordOf = (starts, count) => {
  const words = new Int32Array(count);
  let word = -1;
  for (let i = 0; i < count; i++) {
    if (starts[word + 1] === i) word += 1;
    words[i] = word;
  }
  return words;
};

/** Keys of a word are summed, its queries averaged: every row still sums to one. */
export const merged = (weights, rows, columns, { query_starts: queryStarts, key_starts: keyStarts }) => {
  const queries = wordOf(queryStarts, rows), keys = wordOf(keyStarts, columns), across = keyStarts.length;
  const sums = new Float32Array(queryStarts.length * across);
  for (let query = 0; query < rows; query++) {
    const length = (queryStarts[queries[query] + 1] ?? rows) - queryStarts[queries[query]];
    for (let key = 0; key < columns; key++) sums[queries[query] * across + keys[key]] += weights[query * columns + key] / length;
  }
  return sums;
};

export const largest = (weights) => {
  let most = 0;
  for (let i = 0; i < weights.length; i++) if (weights[i] > most) most = weights[i];
  return most;
};

/** A small picture keeps its peaks: the largest weight of each block. */
export const pooled = (weights, rows, columns, limit) => {
  const r = Math.min(rows, limit), c = Math.min(columns, limit);
  if (r === rows && c === columns) return [weights, rows, columns];
  const small = new Float32Array(r * c);
  for (let i = 0; i < rows; i++) {
    const begin = Math.floor((i * r) / rows) * c;
    for (let j = 0; j < columns; j++) {
      const at = begin + Math.floor((j * c) / columns);
      if (weights[i * columns + j] > small[at]) small[at] = weights[i * columns + j];
    }
  }
  return [small, r, c];
};

/** The places of the largest weights from `least` up, at most `limit` of them. */
export const strongest = (weights, least, limit) => {
  const found = [];
  for (let i = 0; i < weights.length; i++) if (weights[i] >= least) found.push(i);
  return found.length <= limit ? found : found.sort((one, other) => weights[other] - weights[one]).slice(0, limit);
};
