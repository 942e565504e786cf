"""What is told to be drawn, by the page here or by any other program: attention, the search, positions, curves."""

from typing import Literal, NotRequired, TypedDict


class HeadPatternShare(TypedDict):
    share: float
    """Mean weight that falls here."""
    uniform_share: float
    """The share if the weights were equal."""
    is_testable: bool
    """True if the sentence is long enough to tell this pattern from chance."""


class AttentionHead(TypedDict):
    pattern: str
    """A positional pattern, or broad, focused, mixed, too_short, fixed."""
    value: float
    """How much of it."""
    entropy: float
    """In bits, mean over queries."""
    normalized_entropy: float
    """Entropy as part of the greatest possible."""
    confidence: float
    """The largest weight of a query, mean over queries."""
    patterns: dict[str, HeadPatternShare]


class TokenGrid(TypedDict):
    queries: list[str]
    keys: list[str]
    summaries: list[list[AttentionHead]]
    """Of each layer its heads, and last their mean."""


class WordGrid(TypedDict):
    queries: list[str]
    keys: list[str]
    summaries: list[list[AttentionHead]]
    query_starts: list[int]
    """Where each word begins among the pieces."""
    key_starts: list[int]


class PackedHeads(TypedDict):
    count: int
    packed: str
    """Weights (head, query, key) times grain as 16-bit numbers, the lower byte first; deflated (zlib), in base64."""


class AttentionRoleWeights(TypedDict):
    role: str
    """cross, encoder, decoder or hops."""
    layers: list[PackedHeads]
    tokens: TokenGrid
    words: WordGrid


class AttentionExampleData(TypedDict):
    text: str
    translation: str
    """Or the label."""
    is_label: bool
    reference: str
    score: float | None
    roles: list[AttentionRoleWeights]


class HeadThresholds(TypedDict):
    """From where on a head is named by what it does."""

    min_pattern_share: float
    min_pattern_lift: float
    min_pattern_rows: int
    max_chance: float
    min_broad_entropy: float
    diagonal_band: float


class AttentionResponse(TypedDict):
    title: str
    note: str
    quantization_scale: int
    """Packed weights are whole numbers of this part."""
    thresholds: HeadThresholds
    examples: list[AttentionExampleData]


class SearchTreeCandidate(TypedDict):
    token: str
    text: str
    """The whole prefix."""
    parent: int | None
    """Its place among those kept in the step before."""
    token_log_prob: float
    """log p of the piece."""
    log_prob: float
    """log p of the prefix."""
    ranking_score: float
    """By which candidates are compared."""
    length_penalty: float
    score: float
    is_finished: bool
    gap: NotRequired[float]
    """Of a pruned one: how far below the last that was kept."""


class SearchTreeStep(TypedDict):
    kept: list[SearchTreeCandidate]
    pruned: list[SearchTreeCandidate]
    more_pruned: int
    """How many more were pruned."""


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
    """The longest output, without </s>."""
    max_length_penalty: float
    """The penalty of the longest output."""
    stop_reason: Literal["certain", "limit", "full", "nothing"]
    """Why the search stopped."""
    score_bound: float | None
    """No living prefix could have scored above this."""
    steps: list[SearchTreeStep]
    finished: list[tuple[int, int]]
    """Step and place of each output, best first."""


class PackedMatrix(TypedDict):
    max_abs: float
    """The largest distance from zero."""
    packed: str
    """Numbers from −most to most as 16-bit numbers from 0 to 65,534; deflated (zlib), in base64."""


class PackedPositionTable(TypedDict):
    kind: Literal["sinusoidal", "learned", "rotary"]
    used_by: list[str]
    """The parts of the model that read it."""
    positions: int
    width: int
    values: PackedMatrix
    """(position, width)"""
    cosine_similarity: PackedMatrix
    """The cosine of each two positions."""


class PositionsResponse(TypedDict):
    tables: list[PackedPositionTable]


class CurvePanel(TypedDict):
    name: Literal["loss", "score", "lr", "grad_norm"]
    lines: dict[str, list[tuple[float, float]]]
    """Name → step and value."""


class CurvesResponse(TypedDict):
    panels: list[CurvePanel]
