/** English texts of the view pages. Functions take the numbers of a sentence, a search or a run. */
import { percent, signed } from "./format.js";

const count = (number) => number.toLocaleString("en");

export const english = {
  page: {
    attention: "Attention", tree: "Search tree", positions: "Positions", curves: "Training", trace: "Trace", family: "Models", inspect: "Inspection", compare: "Comparison", corpus: "Corpus", panels: "Views",
    otherLanguage: "한국어", otherLanguageHelp: "한국어로 보기",
    theme: { system: "Auto", light: "Light", dark: "Dark" }, themeHelp: (theme) => `Theme: ${theme}. Change it.`,
    sentence: "Sentence", previousSentence: "Previous sentence", nextSentence: "Next sentence", more: "More", less: "Less",
    source: "Source", translation: "Translation", label: "Label", reference: "Reference", score: "Score", scoreNote: "log-probability / length penalty",
  },
  attention: {
    roles: "Attention", cross: "Cross", encoder: "Encoder", decoder: "Decoder", hops: "Hops",
    unit: "Unit", tokens: "Tokens", words: "Words", view: "View", heatmap: "Heat map", lines: "Lines",
    scale: "Color scale", fixedScale: "0 to 1", maxScale: "Fit to maximum",
    overview: "All layers and heads", mean: "Mean", meanOf: "mean of the heads", headNumber: (number) => `head ${number}`,
    layerTitle: (layer, head) => `Layer ${layer} · ${head}`,
    single: {
      alignment: "Alignment", hops: "All hops",
      "multi-step": (layer) => `Layer ${layer}`,
    },
    hop: (number) => `Hop ${number}`,
    keysHelp: "Rows are layers, columns are heads. Use the arrow keys to move between heads.",
    smaller: "Zoom out", larger: "Zoom in", fit: "Fit all", save: "Save image", weight: "Weight",
    hint: "Point at the picture, or focus it and use the arrow keys. · marks the start of a word.",
    masked: "masked: not written yet (−∞ → 0)", outside: "masked: outside the window (−∞ → 0)",
    maskedLegend: "masked",
    patternsTitle: "Share of the weight by pattern", uniform: (share) => ` (${share} if uniform)`,
    untestable: " · too short to tell",
    patterns: {
      itself: "itself", previous: "previous", next: "next", earlier: "two before", first: "first", last: "last",
      diagonal: "diagonal", broad: "broad", focused: "focused", mixed: "mixed", varies: "varies",
      too_short: "too short", fixed: "fixed",
    },
    axes: {
      cross: ["target", "source"], encoder: ["source", "source"], decoder: ["output", "output before it"],
      hops: ["hops", "source"],
    },
    rowsAndColumns: (query, key) => `Rows: ${query} (queries) · columns: ${key} (keys)`,
    leftAndRight: (query, key) => `Left: ${query} (queries) · right: ${key} (keys)`,
    captions: {
      cross: "Queries: one per target position. Keys and values: the encoder's vectors, one per source token.",
      encoder: "One query, key and value per source token. Each attends to all of them.",
      window: "One query, key and value per source token. Each attends to a window around it; the others are masked.",
      decoder: "Queries: one per output token. Keys and values: the tokens before it. Later ones are masked.",
      hops: "Queries: one learned vector per hop. Keys and values: the encoder's states, one per source token.",
      alignment: "Queries: the decoder's state before each target token. Keys and values: the encoder's states.",
      overHops: "Queries: the decoder's state before each target token. Keys and values: the hops of the source.",
    },
    equations: {
      "scaled-dot": "A = softmax(QKᵀ / √dₖ)", dot: "A = softmax(QKᵀ)", additive: "A = softmax(vᵀ tanh(q + k))",
      alignment: "αᵢⱼ = softmaxⱼ(vᵀ tanh(W sᵢ₋₁ + U hⱼ))", "multi-step": "aᵢⱼ = softmaxⱼ(dᵢ · zⱼ)",
      hops: "A = softmax(W₂ tanh(W₁ Hᵀ))",
    },
    entropy: (bits, share) => `Entropy ${bits} bits, ${share} of the maximum.`,
    summaries: {
      broad: () => "Broad: the weight is spread over nearly all keys.",
      focused: (value) => `Focused: the largest weight of a query is ${value} on average.`,
      mixed: (value) => `Mixed: the largest weight of a query is ${value} on average.`,
      too_short: (value) => `This sentence is too short to distinguish patterns. The largest weight is ${value} on average.`,
      fixed: () => "Fixed: there is only one key to attend to.",
    },
    patternSummary: (name, value) => `${value} of the weight is on “${name}”.`,
    inSentences: (name, n, m) => `“${name}” in ${n} of ${m} sentences.`,
    variesIn: (n, m) => `No pattern in most sentences: the most frequent one in ${n} of ${m}.`,
    here: "In this sentence:",
    picture: (name) => `${name}. Use the arrow keys to move between weights.`,
    thumb: (head, pattern, sentences, bits) => `${head}: ${pattern}${sentences}, entropy ${bits} bits`,
    thumbSentences: (n, m) => ` in ${n} of ${m} sentences`,
    naming: "How heads are named",
    explanation: (t) => [
      `In a sentence, a head has a pattern if at least ${percent(t.min_pattern_share)} of the weight falls on it, and at least ${t.min_pattern_lift} times as much as under uniform attention. Only rows that distinguish the pattern from the others count: in the first row, for example, “diagonal” and “first” are the same cell.`,
      `Short sentences fit some pattern by chance. So at least ${t.min_pattern_rows} such rows are needed, and heads with the same weights in random order may get such a name in at most ${percent(t.max_chance)} of all cases. If no pattern can be tested in this way, the sentence is “too short”.`,
      `Otherwise a head is broad if its entropy is at least ${percent(t.min_broad_entropy)} of the maximum, focused if the largest weight of a query is at least ${percent(t.min_pattern_share)} on average, and mixed if not.`,
      "A head is named after the pattern that it has in more than half of the sentences; sentences that are too short do not count.",
      `All numbers are means over the queries with more than one key. Diagonal means: at most ${percent(t.diagonal_band)} of the source length away from the straight line between the first and the last token.`,
      "For words, the weights are summed over the tokens of a key and averaged over the tokens of a query; then the numbers are computed again.",
      "Attention weights show which tokens a head reads. They do not by themselves explain why the model chose a word.",
    ],
  },
  tree: {
    truncated: "The source is longer than the model accepts; only its beginning was translated.",
    beamGroups: (groups) => `The model's own settings use ${groups} diverse beam groups; this tree shows one beam without groups.`,
    title: "The beam, step by step",
    beamRule: (beam) => (beam === 1
      ? "Beam 1: each step keeps the candidate with the highest log-probability."
      : `Beam ${beam}: each step keeps the ${beam} prefixes with the highest log-probability alive.`),
    finishedRule: (beam) => (beam === 1
      ? "If it ends with </s>, the output is finished."
      : `Candidates among the best ${beam} that end with </s> are finished and leave the beam.`),
    scoreRule: (alpha) => (alpha
      ? `A finished output is scored by (alpha ${alpha}), so that a longer output is not at a disadvantage:`
      : "A finished output is scored by its log-probability (alpha 0), which favors short outputs:"),
    coverageRule: (weight) => `The coverage penalty (weight ${weight}) lowers the score of an output that pays little attention to some source tokens.`,
    scoreName: "score", logProbName: "log p", lengthName: "length",
    marks: {
      best: "best output", finished: "finished (score)", kept: "alive", dead: "kept, later pruned",
      pruned: "pruned, with the distance to the last kept",
    },
    hint: "Each box is a token with its probability given the prefix before it; the best prefix is on top. Point at a box, tap it, or focus the tree and use the arrow keys: ← parent, → best continuation, ↑ ↓ within a step.",
    minimap: "Overview of all steps", stepsOf: (first, last, count) => `Steps ${first} to ${last} of ${count}`,
    stage: "Search tree. Use the arrow keys to move between prefixes.", finishedLane: "finished", prunedLane: "pruned",
    tokenProbability: "token probability", logProb: "log p of the prefix", rankingScore: "after search rules",
    score: "score",
    aliveRank: (rank, alive, step) => `${rank} of ${alive} alive at step ${step}`,
    finishedRank: (rank, total) => `finished: rank ${rank} of ${total}`,
    stepCounts: (alive, finished) => `alive ${alive} · finished ${finished}`,
    root: "Start of the search, before the first token.",
    gap: (gap) => (gap >= 0 ? `pruned: ${signed(gap)} below the last kept` : `not kept, although ${signed(-gap)} above the last kept`),
    more: (number) => `+${count(number)}`, moreTitle: (number) => `${count(number)} more candidates were pruned`,
    stopTitle: "Why the search stopped", finishedTitle: "Finished outputs, best first",
    stopReason: {
      certain: ({ max_tokens: tokens, max_length_penalty: penalty }, best, bound) => `The result is certain. The best finished output scores ${best}. The log-probability of the remaining prefixes can only decrease: even at the maximum length (${tokens} tokens, length penalty ${penalty.toFixed(2)}) none of them could score above ${bound}.`,
      full: ({ beam }) => (beam === 1 ? "The only prefix of the beam ended with </s>." : `At least ${beam} outputs are finished, as many as the beam is wide, and the best candidate of a step was one of them.`),
      limit: ({ max_tokens: tokens }) => `The maximum length was reached: after ${tokens} tokens only </s> is allowed.`,
      nothing: () => "No candidate was left: the search rules forbid all further tokens.",
    },
    columns: ["", "Output", "Length", "Log p", "Length penalty", "Score"], empty: "(empty)",
    lengthNote: "The length includes </s>.",
    comparedNote: (beam) => ` Only the ${beam} outputs with the highest log-probability are compared by score; the others follow.`,
  },
  positions: {
    usedBy: { encoder: "encoder", decoder: "decoder" },
    kinds: { sinusoidal: "Sinusoids", learned: "Learned positions", rotary: "Rotary (RoPE)" },
    explanation: {
      sinusoidal: "Each column is a wave over the positions: high frequencies on the left, low frequencies on the right. The rows are added to the token embeddings.",
      blocks: "Each column is a wave over the positions: sines in the left half, cosines in the right half, with falling frequencies in both. The rows are added to the token embeddings.",
      learned: "One trained vector for each position. It is added to the token embeddings.",
      rotary: "Sine and cosine of the angles by which queries and keys are rotated in each head. The dot product of a query and a key then depends on their distance.",
    },
    values: (positions, width) => `Rows: positions 0 to ${positions - 1} · columns: the ${width} dimensions`,
    similarity: "Cosine similarity of each pair of positions",
    cell: (position, dimension, value) => `Position ${position}, dimension ${dimension}: ${value}`,
    pair: (first, second, value) => `Positions ${first} and ${second}: ${value}`,
    keys: "Focus the picture and use the arrow keys to read values.",
  },
  curves: {
    loss: "Loss", score: "Validation score", lr: "Learning rate", grad_norm: "Gradient norm", step: "step",
    names: {
      loss: "training", dev_loss: "validation", bleu: "BLEU", chrf: "chrF", exact_match: "exact match",
      accuracy: "accuracy", macro_f1: "macro F1", lr: "learning rate", grad_norm: "gradient norm",
    },
    axis: "Axis", linear: "Linear", log: "Log", zero: "From 0", range: "Fit", brokenAxis: "The axis does not start at 0.",
    hint: "Point at a curve, or focus it and use the arrow keys.", atStep: (step) => `at step ${step}`,
  },
};
