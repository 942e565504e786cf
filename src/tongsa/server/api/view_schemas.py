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
class AttentionMechanism(TypedDict):
    score: Literal["scaled-dot", "dot", "additive", "alignment", "multi-step", "hops"] | None
    """Score function of the attention."""
    before: int | None
    """Number of keys that a query sees before its own; null is all."""
    after: int | None
    """Number of keys that a query sees after its own; null is all, 0 is causal attention."""


@documented
class HeadName(TypedDict):
    pattern: str
    """The pattern that most sentences have; varies if none has a majority."""
    count: int
    """Number of sentences with this pattern."""
    sentences: int
    """Number of sentences that were compared."""


@documented
class HeadNames(TypedDict):
    tokens: list[list[HeadName]]
    """For each layer its heads and, last, their mean."""
    words: list[list[HeadName]]


@documented
class AttentionResponse(TypedDict):
    title: str
    note: str
    quantization_scale: int
    """Factor from weights to packed integers."""
    thresholds: HeadThresholds
    mechanisms: dict[str, AttentionMechanism]
    """Role → its score function and mask."""
    head_names: dict[str, HeadNames]
    """Role → names of its heads."""
    examples: list[AttentionExampleData]


@documented
class SearchTreeCandidate(TypedDict):
    token: str
    parent: int | None
    """Index among the kept candidates of the previous step. The tokens along the parents are the prefix."""
    token_log_prob: float
    """Log-probability of the token."""
    log_prob: float
    """Log-probability of the prefix."""
    ranking_score: float
    """Log-probability after the search rules; candidates are ranked by it."""
    is_finished: NotRequired[bool]
    """True for a candidate that ends with </s>."""
    score: NotRequired[float]
    """Score of a finished hypothesis, coverage penalty included."""
    gap: NotRequired[float]
    """Distance of a pruned candidate to the lowest ranking score that was kept."""


@documented
class SearchTreeStep(TypedDict):
    length_penalty: float
    """Length penalty of outputs that end in this step."""
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
    layout: Literal["interleaved", "blocks"]
    """Order of the sinusoids: sine and cosine in turn, or all sines and then all cosines."""
    values: PackedMatrix | None
    """(position, width); null for the paper's sinusoids: sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)) in turn."""


@documented
class PositionsResponse(TypedDict):
    tables: list[PackedPositionTable]


@documented
class CurveLine(TypedDict):
    key: str
    """Key of the values in the journal, such as loss or bleu."""
    run: int
    """Index of the run."""
    points: list[tuple[float, float]]
    """Step and value."""


@documented
class CurvePanel(TypedDict):
    name: Literal["loss", "score", "lr", "grad_norm"]
    lines: list[CurveLine]


@documented
class CurvesResponse(TypedDict):
    runs: list[str]
    panels: list[CurvePanel]
