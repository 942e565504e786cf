"""Responses of the views under /v1: attention, search tree, position tables, training curves."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from tongsa.server.errors import documented


@documented
class HeadPatternShare(TypedDict):
    share: float
    """Mean attention weight on the pattern."""
    uniform_share: float
    """Share of uniform weights, for comparison."""
    is_testable: bool
    """The sentence is long enough to distinguish this pattern from chance."""


@documented
class AttentionHead(TypedDict):
    pattern: str
    """A positional pattern such as previous, or broad, focused, mixed, too_short, fixed."""
    value: float
    """Share, entropy or confidence that gave the head its pattern."""
    entropy: float
    """Entropy in bits, mean over queries."""
    normalized_entropy: float
    """Entropy divided by its maximum."""
    confidence: float
    """Largest weight of a query, mean over queries."""
    patterns: dict[str, HeadPatternShare]


@documented
class TokenGrid(TypedDict):
    queries: list[str]
    keys: list[str]
    summaries: list[list[AttentionHead]]
    """For each layer its heads and, last, their mean."""


@documented
class WordGrid(TypedDict):
    queries: list[str]
    keys: list[str]
    summaries: list[list[AttentionHead]]
    query_starts: list[int]
    """Index of each word's first token."""
    key_starts: list[int]


@documented
class PackedHeads(TypedDict):
    count: int
    packed: str
    """Weights (head, query, key) times quantization_scale as little-endian uint16, zlib-compressed, in base64."""


@documented
class AttentionRoleWeights(TypedDict):
    role: str
    """cross, encoder, decoder or hops."""
    layers: list[PackedHeads]
    tokens: TokenGrid
    words: WordGrid


@documented
class AttentionExampleData(TypedDict):
    text: str
    translation: str
    """The translation, or the label."""
    is_label: bool
    reference: str
    score: float | None
    roles: list[AttentionRoleWeights]


@documented
class HeadThresholds(TypedDict):
    """Thresholds of the pattern names."""

    min_pattern_share: float
    min_pattern_lift: float
    min_pattern_rows: int
    max_chance: float
    min_broad_entropy: float
    diagonal_band: float


@documented
class AttentionResponse(TypedDict):
    title: str
    note: str
    quantization_scale: int
    """Factor from weights to packed integers."""
    thresholds: HeadThresholds
    examples: list[AttentionExampleData]


@documented
class SearchTreeCandidate(TypedDict):
    token: str
    text: str
    """Text of the prefix, this token included."""
    parent: int | None
    """Index among the kept candidates of the previous step."""
    token_log_prob: float
    """Log-probability of the token."""
    log_prob: float
    """Log-probability of the prefix."""
    ranking_score: float
    """Log-probability after the penalties; candidates are ranked by it."""
    length_penalty: float
    score: float
    is_finished: bool
    gap: NotRequired[float]
    """Distance of a pruned candidate to the lowest ranking score that was kept."""


@documented
class SearchTreeStep(TypedDict):
    kept: list[SearchTreeCandidate]
    pruned: list[SearchTreeCandidate]
    more_pruned: int
    """Number of pruned candidates that are not listed."""


@documented
class SearchTreeResponse(TypedDict):
    title: str
    text: str
    translation: str
    truncated: bool
    beam_groups: int
    beam: int
    alpha: float
    length_normalization: str
    coverage_penalty: float
    max_tokens: int
    """Maximum length of the output, without </s>."""
    max_length_penalty: float
    """Length penalty of the longest output."""
    stop_reason: Literal["certain", "limit", "full", "nothing"]
    """Why the search stopped: result certain, length limit, beam full, or nothing left."""
    score_bound: float | None
    """Upper bound of the scores that unfinished hypotheses could still reach."""
    steps: list[SearchTreeStep]
    finished: list[tuple[int, int]]
    """Step and rank of each finished hypothesis, best first."""


@documented
class PackedMatrix(TypedDict):
    max_abs: float
    """Largest absolute value."""
    packed: str
    """Values from −max_abs to max_abs as uint16 from 0 to 65,534, zlib-compressed, in base64."""


@documented
class PackedPositionTable(TypedDict):
    kind: Literal["sinusoidal", "learned", "rotary"]
    used_by: list[str]
    """Parts of the model that use the table."""
    positions: int
    width: int
    values: PackedMatrix
    """(position, width)"""
    cosine_similarity: PackedMatrix
    """Cosine similarity of each pair of positions."""


@documented
class PositionsResponse(TypedDict):
    tables: list[PackedPositionTable]


@documented
class CurvePanel(TypedDict):
    name: Literal["loss", "score", "lr", "grad_norm"]
    lines: dict[str, list[tuple[float, float]]]
    """Name of the curve → list of (step, value)."""


@documented
class CurvesResponse(TypedDict):
    panels: list[CurvePanel]
