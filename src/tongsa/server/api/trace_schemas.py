"""Response of /v1/trace: the data of the trace page."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tongsa.server.api.view_schemas import SearchTreeResponse
from tongsa.server.errors import documented


@documented
class TracedModel(TypedDict):
    name: str
    kind: str
    task: str
    source_language: str
    target_language: str


@documented
class TracedTexts(TypedDict):
    source: str
    normalized: str
    output: str
    log_prob: float | None
    score: float | None
    is_forced: bool
    """The output was given or edited, not searched."""


@documented
class TracedSource(TypedDict):
    tokens: list[str]
    ids: list[int]


@documented
class TracedTarget(TypedDict):
    inputs: list[str]
    """Tokens that the decoder reads, <s> first."""
    outputs: list[str]
    """Tokens that each step writes, or a label."""
    ids: list[int]


@documented
class TraceStage(TypedDict):
    id: str
    side: Literal["text", "encoder", "memory", "decoder", "output", "search"]
    layer: int | None
    title: str
    title_ko: str
    tensors: list[str]
    note: Literal["", "empty_memory", "no_attention", "unweighted"]


TensorId = Annotated[str, Field(pattern=r"^t\d+$")]


@documented
class OperandPart(TypedDict):
    tensor: str
    shift: NotRequired[int]
    """Time step of the operand, relative to the tensor's."""
    initial: NotRequired[str]
    """The operand of the first time step, packed."""
    part: NotRequired[tuple[int, int]]
    """Columns, from and to."""
    row: NotRequired[int]
    """The row, for one vector of a matrix."""


@documented
class PackedVector(TypedDict):
    shape: list[int]
    values: str


@documented
class TensorCheck(TypedDict):
    rows: str
    """Sum of the finite values of each row, packed."""
    cells: list[tuple[int, float]]
    """Index in the flat tensor, and value."""


@documented
class TensorData(TypedDict):
    name: str
    """Key of the equations."""
    path: str
    """Path of the module."""
    axes: list[str]
    labels: list[str]
    """Labels of each axis: source tokens, target tokens, slots, or none."""
    shape: list[int]
    operands: dict[str, TensorId | OperandPart]
    """Symbol → id of a tensor, or a part of one."""
    left_out: list[str]
    """Symbols of operands in layers that this trace leaves out."""
    edited: bool
    """An edit replaced the values; they do not follow from the operands."""
    parameters: dict[str, float | PackedVector]
    """Symbol → number, or learned vector."""
    file: str
    line: int
    values: str | None
    """Little-endian floats, byte plane by byte plane, zlib-compressed, in base64; null if they can be recomputed."""
    check: NotRequired[TensorCheck]
    mask: NotRequired[str]
    """Bits, True where a key may be read, zlib-compressed, in base64."""
    dtype: Literal["float32", "float16"]
    occurrence: int
    """From 1, for a module that records the same name more than once."""


@documented
class EquationData(TypedDict):
    title: str
    title_ko: str
    symbol: str
    formula: str
    axes: list[str]
    operation: str
    variant: str
    paper: str
    en: str
    ko: str


@documented
class CodeExcerpt(TypedDict):
    start: int
    """Number of the first line."""
    lines: list[str]


@documented
class LikelyToken(TypedDict):
    token: str
    id: int
    logit: float
    probability: float


@documented
class ChosenToken(TypedDict):
    id: int
    logit: float
    log_prob: float


@documented
class OutputEmbedding(TypedDict):
    ids: list[int]
    shape: list[int]
    values: str
    bias: list[float] | None


@documented
class TraceOutput(TypedDict):
    logsumexp: list[float]
    top: list[list[LikelyToken]]
    chosen: list[ChosenToken]
    embedding: OutputEmbedding
    """Rows of the output matrix for the listed tokens."""
    logits: str | None
    """Logits of the listed tokens, packed; null unless they were edited, as they are products with the rows."""


@documented
class RecordedScope(TypedDict):
    layers: list[int] | None
    """Layers of this trace; null is all."""
    all_layers: list[int]
    """Layers of the model."""
    chosen: bool
    """The layers were asked for; otherwise some may be left out because of the size."""
    precision: Literal["float32", "float16"]
    numbers: int
    truncated: bool


@documented
class ContrastTerm(TypedDict):
    en: str
    ko: str
    path: str
    layer: int | None
    head: int | None
    value: float


@documented
class Contrast(TypedDict):
    step: int
    a: str
    b: str
    difference: float
    """logit(a) - logit(b), the sum of the terms."""
    terms: list[ContrastTerm]


@documented
class BilingualText(TypedDict):
    en: NotRequired[str]
    ko: NotRequired[str]


@documented
class TourEdit(TypedDict):
    """An edit that the reader can try."""

    type: str
    seed: NotRequired[int]
    value: NotRequired[float]


@documented
class TourStep(TypedDict):
    en: NotRequired[str]
    ko: NotRequired[str]
    tensor: NotRequired[str]
    side: NotRequired[str | list[str]]
    layer: NotRequired[int]
    path: NotRequired[str]
    stage: NotRequired[str]
    cell: NotRequired[list[int]]
    step: NotRequired[int]
    head: NotRequired[int]
    edit: NotRequired[TourEdit]


@documented
class Tour(TypedDict):
    steps: list[TourStep]
    title: NotRequired[BilingualText]


@documented
class TraceResponse(TypedDict):
    version: int
    model: TracedModel
    texts: TracedTexts
    source: TracedSource
    target: TracedTarget
    stages: list[TraceStage]
    tensors: dict[str, TensorData]
    equations: dict[str, EquationData]
    code: dict[str, list[CodeExcerpt]]
    output: TraceOutput
    logit_lens: dict[str, list[tuple[str, float]]]
    """State of the decoder's residual stream → at each position the token that it would write, and its probability."""
    search: SearchTreeResponse | None
    recorded: RecordedScope
    tour: Tour | None
    what_if: list[str]
    """Types of edits that change something in this model."""
    contrasts: list[Contrast]
