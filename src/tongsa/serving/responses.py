"""What a client is told: one typed dictionary for each answer. A test holds real answers against them."""

from typing import Literal, NotRequired, TypedDict

from tongsa.serving.config import Limits
from tongsa.serving.guard import Flag
from tongsa.serving.refusal import Error


class Status(TypedDict):
    status: Literal["ok", "ready"]


class Model(TypedDict):
    name: str
    kind: str
    task: Literal["pairs", "labels", "text"]
    source_language: str
    """Empty where it was not told in training."""
    target_language: str
    engine: str
    """Who searches: torch, or ctranslate2."""
    parameters: int
    views: list[Literal["attention", "tree", "positions", "curves"]]
    """What can be looked at, each under /v1."""
    default: bool
    """The one that answers for its task where none is named."""


class Models(TypedDict):
    models: list[Model]
    limits: Limits


class PieceProbability(TypedDict):
    piece: str
    """By its name: ▁ marks the start of a word, and </s> is the end."""
    probability: float


class Hypothesis(TypedDict):
    text: str
    score: float
    """log p, over the penalty of its length."""
    pieces: NotRequired[list[PieceProbability]]


class Alignment(TypedDict):
    source: list[tuple[int, int]]
    """Begin and end of each word of the sentence."""
    target: list[tuple[int, int]]
    """The same of its translation."""
    links: list[tuple[int, int]]
    """Which word of the source goes with which of the translation, counted from 0."""


class WordProbability(TypedDict):
    start: int
    end: int
    probability: float
    """Of its least likely piece."""


class TermOutcome(TypedDict):
    source: str
    target: str
    text: str
    """The target as it was looked for."""
    wanted: int
    """How often the source has it."""
    found: int
    given_up: NotRequired[str]
    """Why it was not asked of the search."""
    met: bool


class Sentence(TypedDict):
    """Places are counted in characters (Unicode code points)."""

    source: str
    start: int
    """Its place in the text."""
    end: int
    text: str
    """The translation."""
    target_start: int
    """Its place in the translation of the text."""
    target_end: int
    score: float
    """log p, over the penalty of its length."""
    confidence: float
    """The geometric mean of the probabilities of its pieces."""
    alternatives: list[Hypothesis]
    """The rest of the n best."""
    flags: list[Flag]
    """Doubts about it."""
    retried: bool
    """Whether another search was made, and its output taken."""
    cut: bool
    """The source was too long for the model, and only its beginning was translated."""
    alignment: NotRequired[Alignment]
    words: NotRequired[list[WordProbability]]
    pieces: NotRequired[list[PieceProbability]]
    terms: NotRequired[list[TermOutcome]]


class Translation(TypedDict):
    text: str
    sentences: list[Sentence]


class Translations(TypedDict):
    model: str
    translations: list[Translation]
    """One for each text, in order."""


class StreamedSentence(TypedDict):
    index: int
    """Of its text in the request."""
    sentence: Sentence


class StreamEnd(TypedDict):
    done: Literal[True]


Line = StreamedSentence | StreamEnd | Error
"""Of a stream. An error is its last line."""


class Continuation(TypedDict):
    text: str
    """The beginning, and one way to go on."""
    score: float
    ends: bool
    """Nothing follows the beginning."""


class Alternatives(TypedDict):
    alternatives: list[Continuation]


class PieceLog(TypedDict):
    piece: str
    log: float


class Score(TypedDict):
    total: float
    """log p of the target given its source."""
    pieces: list[PieceLog]


class Label(TypedDict):
    label: str
    probability: float
    probabilities: dict[str, float]
    """Of every label."""
    cut: bool
    """The text was too long for the model, and only its beginning was read."""


class Labels(TypedDict):
    labels: list[Label]
    """One for each text, in order."""


class Guess(TypedDict):
    confidence: float
    """In percent."""
    language: str


class LibreTranslation(TypedDict):
    """Of several texts each field is a list."""

    translatedText: str | list[str]
    detectedLanguage: NotRequired[Guess | list[Guess]]
    """With source auto."""
    alternatives: NotRequired[list[str] | list[list[str]]]


class Language(TypedDict):
    code: str
    name: str
    targets: list[str]


class LanguageName(TypedDict):
    code: str
    name: str


class Direction(TypedDict):
    source: LanguageName
    target: LanguageName


class FrontendSettings(TypedDict):
    apiKeys: bool
    keyRequired: bool
    charLimit: int
    frontendTimeout: int
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: Direction
