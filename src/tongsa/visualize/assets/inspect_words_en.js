/** Texts of the inspection page in English. */
export const english = {
  models: "Models", name: "Name", kind: "Kind", parameters: "Parameters", rates: "Dropout rates",
  noDropout: "0: all draws are equal",
  logProb: "log p", meanLogProb: "Mean log p of the targets",
  overview: (count, file, seed) => `${count} sentences of ${file}. Seed of the dropout draws: ${seed}.`,
  skipped: (count) => ` ${count} longer sentences were skipped.`,
  dropout: "Dropout", off: "Off", draw: "One draw", mean: (draws) => `Mean of ${draws} draws`,
  spread: (draws) => `Standard deviation of ${draws} draws`,
  modeHelp: {
    off: "Dropout is off, as in evaluation.",
    draw: "One random draw of dropout, as in one training step. Norms stay in evaluation mode.",
    mean: "The mean over all draws.",
    spread: "The standard deviation over all draws: how much dropout changes a number.",
  },
  heads: "Heads",
  role: "Attention", measure: "Cells show",
  cross: "Cross-attention", encoder: "Encoder self-attention", decoder: "Decoder self-attention", hops: "Hops",
  slots: "Attention to the hops",
  noAttention: "No attention: the decoder reads the memory without weights.",
  noAttentionAlone: "No attention: the model has only its recurrent state.",
  otherRoles: (roles) => `This model has no such attention. It has: ${roles}.`,
  sentence: "Sentence", layer: (layer) => `Layer ${layer}`, head: (head) => `Head ${head}`, hop: (hop) => `Hop ${hop}`,
  pattern: "Pattern", entropy: "Entropy (bits)", byOffset: "Weight by offset",
  atOffset: (offset) => `Weight at offset ${offset}`, atIndex: (index) => `Weight at position ${index}`,
  holds: (count, total) => `in ${count} of ${total}`, untested: (count) => `${count} too short`,
  offsetHelp: {
    encoder: "Offset 0 is the token itself, −1 the one before it.", decoder: "Offset −1 is the token written last.",
    cross: "Offset 0 is the diagonal.", hops: "By position in the sentence.", slots: "By hop.",
  },
  patterns: {
    itself: "itself", previous: "previous", next: "next", earlier: "two before", first: "first", last: "last",
    diagonal: "diagonal",
    broad: "broad", focused: "focused", mixed: "mixed", too_short: "too short", fixed: "fixed", varies: "varies",
  },
  chart: (values) => `Weights by offset: ${values}`, select: "Select a cell.",
  states: "Hidden states and norms",
  statistic: "Statistic",
  statistics: {
    mean: "Mean",
    deviation: "Standard deviation",
    largest: "Largest absolute value",
    norm: "Mean length of a vector (L2 norm)",
  },
  where: "Point of the computation", before: "before the norm", after: "after", noNorm: "no norm",
  sides: { encoder: "Encoder", decoder: "Decoder" },
  names: {
    "norm.layer": "layer norm", "norm.rms": "RMS norm", "norm.group": "group norm", "norm.batch": "batch norm",
    "residual.self_attention": "sum", "residual.ssru": "sum", "residual.cross_attention": "sum", "residual.feed_forward": "sum",
    "residual.convolution": "sum", "residual.attention": "sum",
    "embedding.sum": "input", "embedding.scaled": "input", "unfolding.sum": "input + memory",
    "gru.state": "h", "lstm.hidden": "h", "lstm.cell": "c", "ssru.cell": "c",
    "elman.state": "h",
    "rnn.summary": "summary c", "rnn.last_states": "last states", "rnn.initial_state": "initial state",
    "hops.embedding": "M = AH",
    "conv.slots": "keys and values", "pool.mean": "mean", "pool.flat": "all slots", "maxout.output": "maxout",
    "readout.output": "readout",
  },
  weights: "Weights",
  module: "Module", others: "Other matrices",
  histogram: (mean, deviation, max) => `mean ${mean}, standard deviation ${deviation}, largest ${max}`,
  embeddings: "Embeddings",
  table: { source: "source", target: "target", output: "output" }, token: "Token", search: "Search a token",
  notListed: (count) => `Not among the ${count} tokens listed for this table.`,
  noTable: "No embedding table of tokens.",
  neighbor: "Neighbor", cosine: "Cosine",
  help: {
    heads:
      "Rows are sentences, columns are heads. The rows at the top are about all sentences: the most frequent " +
      "pattern with the number of sentences in which it holds, the entropy, and the mean attention weight by " +
      "relative offset. Select a cell to see one sentence.",
    states:
      "The residual stream before and after every norm, in the order of the computation; for models without norms" +
      " the sums or states themselves. All bars of this section share one scale. Padding does not " +
      "count.",
    weights:
      "Histograms of the matrices. Joint projections (of Q, K, V or gates) are split. Matrices with the " +
      "same symbol have the same horizontal axis, in all models; σ is the standard deviation.",
    embeddings:
      "Nearest neighbors of a token by the cosine of their embeddings. The list has the most frequent tokens of" +
      " the data.",
  },
};
