/** Attention matrices: unpacking on first use, merging tokens into words, pooling for thumbnails. */

/** Decode base64 and zlib to 16-bit integers. */
export const unpackUint16 = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint16Array(await new Response(stream).arrayBuffer());
};

const unpackedLayers = new WeakMap(); // layer → promise of its quantized weights, all heads in order
const quantizedWeights = (layer) => {
  if (!unpackedLayers.has(layer)) unpackedLayers.set(layer, unpackUint16(layer.packed));
  return unpackedLayers.get(layer);
};

/** The weights (query × key) of a head; `head` = number of heads gives the mean of all heads. */
export const headWeights = async (role, layer, head, unit, scale) => {
  const quantized = await quantizedWeights(layer), { queries, keys } = role.tokens, size = queries.length * keys.length;
  const weights = head < layer.count
    ? meanMatrix(quantized.subarray(head * size, (head + 1) * size), size, scale)
    : meanMatrix(quantized, size, layer.count * scale);
  return unit === "tokens" ? weights : mergeWords(weights, queries.length, keys.length, role.words);
};

// plain loops: with 512 tokens these run over millions of numbers
const meanMatrix = (quantized, size, divisor) => {
  const sum = new Float32Array(size);
  for (let start = 0; start < quantized.length; start += size) for (let i = 0; i < size; i++) sum[i] += quantized[start + i];
  for (let i = 0; i < size; i++) sum[i] /= divisor;
  return sum;
};

/** Token index → word index. */
const wordIndices = (starts, count) => {
  const words = new Int32Array(count);
  let word = -1;
  for (let i = 0; i < count; i++) {
    if (starts[word + 1] === i) word += 1;
    words[i] = word;
  }
  return words;
};

/** Sum over the keys of a word, mean over its queries: each row still sums to one. */
export const mergeWords = (weights, rows, columns, { query_starts: queryStarts, key_starts: keyStarts }) => {
  const queries = wordIndices(queryStarts, rows), keys = wordIndices(keyStarts, columns), keyCount = keyStarts.length;
  const merged = new Float32Array(queryStarts.length * keyCount);
  for (let query = 0; query < rows; query++) {
    const length = (queryStarts[queries[query] + 1] ?? rows) - queryStarts[queries[query]];
    for (let key = 0; key < columns; key++) merged[queries[query] * keyCount + keys[key]] += weights[query * columns + key] / length;
  }
  return merged;
};

export const maxWeight = (weights) => {
  let max = 0;
  for (let i = 0; i < weights.length; i++) if (weights[i] > max) max = weights[i];
  return max;
};

/** Max-pool a matrix to at most `limit` rows and columns, so that a thumbnail keeps its peaks. */
export const maxPool = (weights, rows, columns, limit) => {
  const r = Math.min(rows, limit), c = Math.min(columns, limit);
  if (r === rows && c === columns) return [weights, rows, columns];
  const pooled = new Float32Array(r * c);
  for (let i = 0; i < rows; i++) {
    const start = Math.floor((i * r) / rows) * c;
    for (let j = 0; j < columns; j++) {
      const index = start + Math.floor((j * c) / columns);
      if (weights[i * columns + j] > pooled[index]) pooled[index] = weights[i * columns + j];
    }
  }
  return [pooled, r, c];
};

/** Indices of the weights of at least `min`; if there are more than `limit`, of the largest ones. */
export const largestWeights = (weights, min, limit) => {
  const indices = [];
  for (let i = 0; i < weights.length; i++) if (weights[i] >= min) indices.push(i);
  return indices.length <= limit ? indices : indices.sort((a, b) => weights[b] - weights[a]).slice(0, limit);
};
