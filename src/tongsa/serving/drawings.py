"""What is told to be drawn, by the page here or by any other program: attention, the search, positions, curves."""

from typing import Literal, NotRequired, TypedDict


class HeadPlace(TypedDict):
    share: float
    """Mean weight that falls here."""
    chance: float
    """The share if the weights were equal."""


class Head(TypedDict):
    kind: str
    """A place, or broad, focused, mixed, fixed."""
    number: float
    """How much of it."""
    entropy: float
    """In bits, mean over queries."""
    spread: float
    """Entropy as part of the greatest possible."""
    peak: float
    """The largest weight of a query, mean over queries."""
    places: dict[str, HeadPlace]


class PieceGrid(TypedDict):
    queries: list[str]
    keys: list[str]
    summaries: list[list[Head]]
    """Of each layer its heads, and last their mean."""


class WordGrid(TypedDict):
    queries: list[str]
    keys: list[str]
    summaries: list[list[Head]]
    query_starts: list[int]
    """Where each word begins among the pieces."""
    key_starts: list[int]


class PackedHeads(TypedDict):
    count: int
    packed: str
    """Weights (head, query, key) times grain as 16-bit numbers, the lower byte first; deflated (zlib), in base64."""


class Role(TypedDict):
    role: str
    """cross, encoder, decoder or hops."""
    layers: list[PackedHeads]
    pieces: PieceGrid
    words: WordGrid


class AttentionReading(TypedDict):
    text: str
    translation: str
    """Or the label."""
    labelled: bool
    reference: str
    score: float | None
    roles: list[Role]


class HeadRules(TypedDict):
    """From where on a head is named by what it does."""

    half: float
    lift: float
    broad: float
    band: float


class Attention(TypedDict):
    title: str
    note: str
    grain: int
    """Packed weights are whole numbers of this part."""
    rules: HeadRules
    readings: list[AttentionReading]


class Candidate(TypedDict):
    piece: str
    text: str
    """The whole prefix."""
    parent: int | None
    """Its place among those kept in the step before."""
    log: float
    """log p of the piece."""
    total: float
    """log p of the prefix."""
    merit: float
    """By which candidates are compared."""
    penalty: float
    score: float
    ended: bool
    gap: NotRequired[float]
    """Of a pruned one: how far below the last that was kept."""


class SearchStep(TypedDict):
    kept: list[Candidate]
    pruned: list[Candidate]
    others: int
    """How many more were pruned."""


class SearchTree(TypedDict):
    title: str
    text: str
    translation: str
    cut: bool
    groups: int
    beam: int
    alpha: float
    normalisation: str
    coverage: float
    limit: int
    """The longest output, without </s>."""
    longest: float
    """The penalty of the longest output."""
    reason: Literal["certain", "limit", "full", "nothing"]
    """Why the search stopped."""
    bound: float | None
    """No living prefix could have scored above this."""
    steps: list[SearchStep]
    finished: list[tuple[int, int]]
    """Step and place of each output, best first."""


class PackedNumbers(TypedDict):
    most: float
    """The largest distance from zero."""
    packed: str
    """Numbers from −most to most as 16-bit numbers from 0 to 65,534; deflated (zlib), in base64."""


class PositionTable(TypedDict):
    kind: Literal["sinusoidal", "learned", "rotary"]
    owners: list[str]
    """The parts of the model that read it."""
    positions: int
    width: int
    values: PackedNumbers
    """(position, width)"""
    likeness: PackedNumbers
    """The cosine of each two positions."""


class Positions(TypedDict):
    tables: list[PositionTable]


class CurvePanel(TypedDict):
    name: Literal["loss", "score", "rate", "norm"]
    lines: dict[str, list[tuple[float, float]]]
    """Name → step and value."""


class Curves(TypedDict):
    panels: list[CurvePanel]
