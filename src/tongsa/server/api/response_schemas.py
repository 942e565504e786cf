"""Responses of /v1, except for the views: plain dicts with these keys. The OpenAPI document is made from these types.

A test validates real responses against that document.
"""

from typing import Literal, NotRequired

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from tongsa.server.config import RequestLimits
from tongsa.server.errors import ErrorBody, documented
from tongsa.server.output_checks import OutputFlag


@documented
class Status(TypedDict):
    status: Literal["ok", "ready"]


@documented
class ModelSummaryInfo(TypedDict):
    training_pairs: int
    """Pairs, or texts, of the training data; 0 if unknown."""
    training_unit: Literal["pairs", "labeled_texts", "texts"]
    """Unit of training_pairs."""
    metric: str
    """Metric of the score; empty if unknown."""
    score: float
    """Score on the dev set."""
    examples: list[str]
    """Texts to try the model with."""
    control_tags: list[str]
    """Values of control_tag in /v1/translate, such as <polite>."""


@documented
class ModelInfo(TypedDict):
    name: str
    kind: str
    """Architecture, such as transformer."""
    task: Literal["seq2seq", "classification", "language_model"]
    source_language: str
    """Empty if it was not set in training."""
    target_language: str
    engine: str
    """Engine that runs the search: torch, torch-int8, ctranslate2 or ctranslate2-int8."""
    parameters: int
    views: list[Literal["attention", "tree", "trace", "positions", "curves"]]
    """Views of the model, each at this name under /v1."""
    default: bool
    """The model that is used for its task if a request names none."""
    summary: ModelSummaryInfo


@documented
class ModelsResponse(TypedDict):
    models: list[ModelInfo]
    limits: RequestLimits
    corrections: bool
    """The server accepts /v1/corrections."""


@documented
class TokenProbability(TypedDict):
    token: str
    """▁ marks the start of a word; </s> is the end."""
    probability: float


@documented
class AlternativeTranslation(TypedDict):
    text: str
    final_punctuation: str
    """The stop of the source sentence that the model did not write; of several sentences, `text` ends with it."""
    score: float
    """Length-normalized log-probability."""
    tokens: NotRequired[list[TokenProbability]]


@documented
class WordAlignment(TypedDict):
    source: list[tuple[int, int]]
    """Start and end of each source word in the sentence."""
    target: list[tuple[int, int]]
    """Start and end of each target word in the translation."""
    links: list[tuple[int, int]]
    """Pairs of a source word and a target word, counted from 0."""


@documented
class WordProbability(TypedDict):
    start: int
    end: int
    probability: float
    """Probability of the word's least likely token."""


@documented
class GlossaryTermResult(TypedDict):
    source: str
    target: str
    text: str
    """The target as it was searched in the translation."""
    expected: int
    """Required occurrences: of a copied term as in the source, of a translation one."""
    occurrences: int
    """Occurrences in the translation, as whole words before the end of the sentence."""
    skipped_reason: NotRequired[str]
    """Why the term was left out, and what to do."""
    satisfied: bool
    """The translation has the term at least as often as expected."""
    in_place: bool
    """The term stands where the model's own translation of the source term stood."""


@documented
class TranslatedSentence(TypedDict):
    """Positions are counted in characters (Unicode code points)."""

    source: str
    start: int
    """Start of the sentence in the text."""
    end: int
    text: str
    """The translation."""
    target_start: int
    """Start of the translation in the translated text."""
    target_end: int
    final_punctuation: str
    """The stop of the source sentence that the model did not write; of several sentences, `text` ends with it."""
    score: float
    """Length-normalized log-probability."""
    confidence: float
    """Geometric mean of the token probabilities."""
    alternatives: list[AlternativeTranslation]
    """The other n-best translations, best first."""
    flags: list[OutputFlag]
    """Failed checks of the translation."""
    retried: bool
    """The translation comes from a second search, because the first one failed a check."""
    truncated: bool
    """The source is too long for the model; only its beginning was translated."""
    unseen_words: list[str]
    """Words of the source that do not occur in the training data."""
    low_score: bool
    """The translation is empty, or the model finds it less probable than nearly all outputs for its dev set."""
    longer_than_training: bool
    """The source is much longer than any source of the training data."""
    alignment: NotRequired[WordAlignment]
    words: NotRequired[list[WordProbability]]
    tokens: NotRequired[list[TokenProbability]]
    terms: NotRequired[list[GlossaryTermResult]]
    """Glossary terms that occur in the sentence."""


@documented
class TranslatedText(TypedDict):
    text: str
    sentences: list[TranslatedSentence]


@documented
class TranslateResponse(TypedDict):
    model: str
    translations: list[TranslatedText]
    """One per text, in order."""


@documented
class StreamedSentence(TypedDict):
    index: int
    """Index of the text in the request."""
    sentence: TranslatedSentence


@documented
class StreamEnd(TypedDict):
    done: Literal[True]


StreamLine = StreamedSentence | StreamEnd | ErrorBody
"""One line of a stream. An error is the last line."""


@documented
class Continuation(TypedDict):
    text: str
    """The prefix and its continuation."""
    final_punctuation: str
    """The stop of the source that the continuation lacks."""
    score: float
    probability: float
    """Probability of the first token after the prefix."""
    is_finished: bool
    """The translation ends after the prefix."""
    terms: NotRequired[list[GlossaryTermResult]]
    """Glossary terms that occur in the text; one that could not be put in is not `satisfied`."""


@documented
class AlternativesResponse(TypedDict):
    alternatives: list[Continuation]


@documented
class TokenLogProb(TypedDict):
    token: str
    log_prob: float


@documented
class ScoreResponse(TypedDict):
    log_prob: float
    """Log-probability of the target given the source."""
    tokens: list[TokenLogProb]


@documented
class ContinueResponse(TypedDict):
    text: str
    """The text with its continuation."""
    next_tokens: list[TokenProbability]
    """The likeliest tokens after the given text."""


@documented
class LabelPrediction(TypedDict):
    label: str
    probability: float
    probabilities: dict[str, float]
    """Probability of each label."""
    truncated: bool
    """The text is too long for the model; only its beginning was read."""
    unseen_words: list[str]
    """Words of the text that do not occur in the training data."""
    longer_than_training: bool
    """The text is much longer than any text of the training data."""


@documented
class ClassifyResponse(TypedDict):
    labels: list[LabelPrediction]
    """One per text, in order."""
