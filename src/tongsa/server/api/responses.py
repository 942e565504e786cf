"""What a client is told: one typed dictionary for each answer. A test holds real answers against them."""

from typing import Literal, NotRequired, TypedDict

from tongsa.server.config import RequestLimits
from tongsa.server.errors import ErrorBody
from tongsa.server.output_checks import OutputFlag


class Status(TypedDict):
    status: Literal["ok", "ready"]


class ModelInfo(TypedDict):
    name: str
    kind: str
    task: Literal["seq2seq", "classification", "language_model"]
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


class ModelsResponse(TypedDict):
    models: list[ModelInfo]
    limits: RequestLimits


class TokenProbability(TypedDict):
    token: str
    """By its name: ▁ marks the start of a word, and </s> is the end."""
    probability: float


class AlternativeTranslation(TypedDict):
    text: str
    score: float
    """log p, over the penalty of its length."""
    tokens: NotRequired[list[TokenProbability]]


class WordAlignment(TypedDict):
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


class GlossaryTermResult(TypedDict):
    source: str
    target: str
    text: str
    """The target as it was looked for."""
    expected: int
    """How often the source has it."""
    occurrences: int
    skipped_reason: NotRequired[str]
    """Why it was not asked of the search."""
    satisfied: bool


class TranslatedSentence(TypedDict):
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
    alternatives: list[AlternativeTranslation]
    """The rest of the n best."""
    flags: list[OutputFlag]
    """Doubts about it."""
    retried: bool
    """Whether another search was made, and its output taken."""
    truncated: bool
    """The source was too long for the model, and only its beginning was translated."""
    alignment: NotRequired[WordAlignment]
    words: NotRequired[list[WordProbability]]
    tokens: NotRequired[list[TokenProbability]]
    terms: NotRequired[list[GlossaryTermResult]]


class TranslatedText(TypedDict):
    text: str
    sentences: list[TranslatedSentence]


class TranslateResponse(TypedDict):
    model: str
    translations: list[TranslatedText]
    """One for each text, in order."""


class StreamedSentence(TypedDict):
    index: int
    """Of its text in the request."""
    sentence: TranslatedSentence


class StreamEnd(TypedDict):
    done: Literal[True]


StreamLine = StreamedSentence | StreamEnd | ErrorBody
"""Of a stream. An error is its last line."""


class Continuation(TypedDict):
    text: str
    """The beginning, and one way to go on."""
    score: float
    is_finished: bool
    """Nothing follows the beginning."""


class AlternativesResponse(TypedDict):
    alternatives: list[Continuation]


class TokenLogProb(TypedDict):
    token: str
    log_prob: float


class ScoreResponse(TypedDict):
    log_prob: float
    """log p of the target given its source."""
    tokens: list[TokenLogProb]


class LabelPrediction(TypedDict):
    label: str
    probability: float
    probabilities: dict[str, float]
    """Of every label."""
    truncated: bool
    """The text was too long for the model, and only its beginning was read."""


class ClassifyResponse(TypedDict):
    labels: list[LabelPrediction]
    """One for each text, in order."""


class DetectedLanguage(TypedDict):
    confidence: float
    """In percent."""
    language: str


class LibreTranslateResponse(TypedDict):
    """Of several texts each field is a list."""

    translatedText: str | list[str]
    detectedLanguage: NotRequired[DetectedLanguage | list[DetectedLanguage]]
    """With source auto."""
    alternatives: NotRequired[list[str] | list[list[str]]]


class Language(TypedDict):
    code: str
    name: str
    targets: list[str]


class LanguageName(TypedDict):
    code: str
    name: str


class LanguagePair(TypedDict):
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
    language: LanguagePair
