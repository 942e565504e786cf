// written by tools/javascript_types.py from server/api/view_schemas.py

export interface HeadPatternShare {
  share: number;
  uniform_share: number;
  is_testable: boolean;
}

export interface AttentionHead {
  pattern: string;
  value: number;
  entropy: number;
  normalized_entropy: number;
  confidence: number;
  patterns: Record<string, HeadPatternShare>;
}

export interface TokenGrid {
  queries: string[];
  keys: string[];
  summaries: AttentionHead[][];
}

export interface WordGrid {
  queries: string[];
  keys: string[];
  summaries: AttentionHead[][];
  query_starts: number[];
  key_starts: number[];
}

export interface PackedHeads {
  count: number;
  packed: string;
}

export interface AttentionRoleWeights {
  role: string;
  layers: PackedHeads[];
  tokens: TokenGrid;
  words: WordGrid;
}

export interface AttentionExampleData {
  text: string;
  translation: string;
  is_label: boolean;
  reference: string;
  score: number | null;
  roles: AttentionRoleWeights[];
}

export interface HeadThresholds {
  min_pattern_share: number;
  min_pattern_lift: number;
  min_pattern_rows: number;
  max_chance: number;
  min_broad_entropy: number;
  diagonal_band: number;
}

export interface AttentionMechanism {
  score: "scaled-dot" | "dot" | "additive" | "alignment" | "multi-step" | "hops" | null;
  before: number | null;
  after: number | null;
}

export interface HeadName {
  pattern: string;
  count: number;
  sentences: number;
}

export interface HeadNames {
  tokens: HeadName[][];
  words: HeadName[][];
}

export interface AttentionResponse {
  title: string;
  note: string;
  quantization_scale: number;
  thresholds: HeadThresholds;
  mechanisms: Record<string, AttentionMechanism>;
  head_names: Record<string, HeadNames>;
  examples: AttentionExampleData[];
}

export interface SearchTreeCandidate {
  token: string;
  parent: number | null;
  token_log_prob: number;
  log_prob: number;
  ranking_score: number;
  is_finished?: boolean;
  score?: number;
  gap?: number;
}

export interface SearchTreeStep {
  length_penalty: number;
  kept: SearchTreeCandidate[];
  pruned: SearchTreeCandidate[];
  more_pruned: number;
}

export interface SearchTreeResponse {
  title: string;
  text: string;
  translation: string;
  truncated: boolean;
  beam_groups: number;
  beam: number;
  alpha: number;
  length_normalization: string;
  coverage_penalty: number;
  max_tokens: number;
  max_length_penalty: number;
  stop_reason: "certain" | "limit" | "full" | "nothing";
  score_bound: number | null;
  steps: SearchTreeStep[];
  finished: [number, number][];
}

export interface PackedMatrix {
  max_abs: number;
  packed: string;
}

export interface PackedPositionTable {
  kind: "sinusoidal" | "learned" | "rotary";
  used_by: string[];
  positions: number;
  width: number;
  layout: "interleaved" | "blocks";
  values: PackedMatrix | null;
}

export interface PositionsResponse {
  tables: PackedPositionTable[];
}

export interface CurveLine {
  key: string;
  run: number;
  points: [number, number][];
}

export interface CurvePanel {
  name: "loss" | "score" | "lr" | "grad_norm";
  lines: CurveLine[];
}

export interface CurvesResponse {
  runs: string[];
  panels: CurvePanel[];
}
