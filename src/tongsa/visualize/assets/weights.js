/** Attention matrices: unpacking on first use, merging tokens into words, masks, pooling for thumbnails. */

/**
 * Decode base64 and zlib to bytes.
 * @param {string} packed
 * @returns {Promise<ArrayBuffer>}
 */
export const unpackBytes = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};

/** Decode base64 and zlib to 16-bit integers. @param {string} packed */
export const unpackUint16 = async (packed) => new Uint16Array(await unpackBytes(packed));

/** Layer → promise of its quantized weights, all heads in order. @type {WeakMap<object, Promise<Uint16Array>>} */
const unpackedLayers = new WeakMap();
const quantizedWeights = (layer) => {
  const known = unpackedLayers.get(layer) ?? unpackUint16(layer.packed);
  unpackedLayers.set(layer, known);
  return known;
};

/**
 * Return the weights (query × key) of a head; `head` = number of heads gives the mean of all heads.
 * @param {import("./types.d.ts").AttentionRoleWeights} role
 * @param {import("./types.d.ts").PackedHeads} layer
 * @param {number} head
 * @param {"tokens" | "words"} unit
 * @param {number} scale
 */
export const headWeights = async (role, layer, head, unit, scale) => {
  const quantized = await quantizedWeights(layer),
    { queries, keys } = role.tokens,
    size = queries.length * keys.length;
  const weights =
    head < layer.count
      ? meanMatrix(quantized.subarray(head * size, (head + 1) * size), size, scale)
      : meanMatrix(quantized, size, layer.count * scale);
  return unit === "tokens" ? weights : mergeWords(weights, queries.length, keys.length, role.words);
};

// plain loops: with 512 tokens these run over millions of numbers
const meanMatrix = (quantized, size, divisor) => {
  const sum = new Float32Array(size);
  for (let start = 0; start < quantized.length; start += size) {
    for (let i = 0; i < size; i++) sum[i] += quantized[start + i];
  }
  for (let i = 0; i < size; i++) sum[i] /= divisor;
  return sum;
};

/** Return the word index of each token. @param {number[]} starts @param {number} count */
const wordIndices = (starts, count) => {
  const words = new Int32Array(count);
  let word = -1;
  for (let i = 0; i < count; i++) {
    if (starts[word + 1] === i) word += 1;
    words[i] = word;
  }
  return words;
};

/**
 * Sum over the keys of a word, mean over its queries: each row still sums to one.
 * @param {ArrayLike<number>} weights
 * @param {number} rows
 * @param {number} columns
 * @param {{query_starts: number[], key_starts: number[]}} words
 */
export const mergeWords = (weights, rows, columns, { query_starts: queryStarts, key_starts: keyStarts }) => {
  const queries = wordIndices(queryStarts, rows),
    keys = wordIndices(keyStarts, columns),
    keyCount = keyStarts.length;
  const merged = new Float32Array(queryStarts.length * keyCount);
  for (let query = 0; query < rows; query++) {
    const length = (queryStarts[queries[query] + 1] ?? rows) - queryStarts[queries[query]];
    for (let key = 0; key < columns; key++) {
      merged[queries[query] * keyCount + keys[key]] += weights[query * columns + key] / length;
    }
  }
  return merged;
};

/**
 * Return a mask with 1 where a query may not read a key, or null if it may read all. A word is masked if all its
 * tokens are.
 * @param {{queries: string[], keys: string[]}} tokens
 * @param {{query_starts: number[], key_starts: number[]} | null} words null for a mask of tokens
 * @param {{before: number | null, after: number | null}} window keys that a query sees before and after its own
 */
export const attentionMask = ({ queries, keys }, words, { before, after }) => {
  if (before === null && after === null) return null;
  const rows = queries.length,
    columns = keys.length,
    mask = new Uint8Array(rows * columns);
  for (let query = 0; query < rows; query++) {
    for (let key = 0; key < columns; key++) {
      const offset = key - query;
      if ((after !== null && offset > after) || (before !== null && -offset > before)) mask[query * columns + key] = 1;
    }
  }
  if (!words) return mask;
  const shares = mergeWords(mask, rows, columns, words),
    starts = words.key_starts;
  const lengths = starts.map((start, i) => (starts[i + 1] ?? columns) - start);
  return Uint8Array.from(shares, (share, i) => (share > lengths[i % lengths.length] - 1e-4 ? 1 : 0));
};

/**
 * Return a mask at the size of a pooled matrix.
 * @param {Uint8Array} mask
 * @param {number} rows
 * @param {number} columns
 * @param {number} pooledRows
 * @param {number} pooledColumns
 */
export const poolMask = (mask, rows, columns, pooledRows, pooledColumns) =>
  Uint8Array.from({ length: pooledRows * pooledColumns }, (_, i) => {
    const row = Math.floor((Math.floor(i / pooledColumns) * rows) / pooledRows);
    return mask[row * columns + Math.floor(((i % pooledColumns) * columns) / pooledColumns)];
  });

/** Return the largest weight. @param {ArrayLike<number>} weights */
export const maxWeight = (weights) => {
  let max = 0;
  for (let i = 0; i < weights.length; i++) if (weights[i] > max) max = weights[i];
  return max;
};

/**
 * Max-pool a matrix to at most `limit` rows and columns, so that a thumbnail keeps its peaks.
 * @param {Float32Array} weights
 * @param {number} rows
 * @param {number} columns
 * @param {number} limit
 * @returns {[Float32Array, number, number]}
 */
export const maxPool = (weights, rows, columns, limit) => {
  const r = Math.min(rows, limit),
    c = Math.min(columns, limit);
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

/**
 * Return the indices of the weights of at least `min`; if there are more than `limit`, of the largest ones.
 * @param {ArrayLike<number>} weights
 * @param {number} min
 * @param {number} limit
 */
export const largestWeights = (weights, min, limit) => {
  const indices = [];
  for (let i = 0; i < weights.length; i++) if (weights[i] >= min) indices.push(i);
  return indices.length <= limit ? indices : indices.sort((a, b) => weights[b] - weights[a]).slice(0, limit);
};
