"""Requests and responses of /v1. The OpenAPI document is made from these types."""

from typing import Annotated, Literal, NotRequired, Self

from pydantic import Field, ValidationInfo, model_validator
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from tongsa.server.api.validation import (
    TOO_LONG,
    ListLimit,
    NumberLimit,
    RequestModel,
    TextLimit,
    TextsLimit,
    validation_error,
)
from tongsa.server.config import RequestLimits
from tongsa.server.errors import ErrorBody, documented
from tongsa.server.output_checks import OutputFlag

Texts = Annotated[list[str], TextsLimit("texts")]
Sentence = Annotated[str, TextLimit("sentence_characters")]
SentenceOrEmpty = Annotated[str, TextLimit("sentence_characters", "visible or empty")]
Prefix = Annotated[str, TextLimit("sentence_characters", "nothing")]
TermText = Annotated[str, TextLimit("term_characters")]
Beam = Annotated[int, NumberLimit("beam")]


class NamedModelRequest(RequestModel):
    model: str | None = None
    """Name of a model in /v1/models; by default the first one for the task."""


class ModelRequest(NamedModelRequest):
    """A model by its name or its languages."""

    source_language: str | None = None
    """Language of the text, such as en."""
    target_language: str | None = None
    """Language of the translation, such as ko."""

    @property
    def languages(self) -> tuple[str | None, str | None]:
        return self.source_language, self.target_language


class GlossaryTerm(RequestModel):
    source: TermText
    target: TermText
    """The translation to use."""


class TranslateRequest(ModelRequest):
    text: Texts
    """One text or several, of any number of sentences each."""
    nbest: Annotated[int, NumberLimit("nbest")] = 1
    """Number of translations of each sentence."""
    beam: Beam | None = None
    """Beam width; by default the model's."""
    alignments: bool = False
    """Return which source word each target word comes from."""
    word_probabilities: bool = False
    """Return the probability of each word."""
    token_probabilities: bool = False
    """Return the tokens of each translation, </s> last, with their probabilities. Characters then count nbest times."""
    glossary: Annotated[list[GlossaryTerm], ListLimit("glossary_terms")] = Field(default_factory=list)
    """Terms that must be translated in a given way."""
    prefix: Prefix = ""
    """First words of the translation; for one text of one sentence."""
    stream: bool = False
    """Answer with one line per sentence, each sent when it is ready."""

    @model_validator(mode="after")
    def check_nbest(self, info: ValidationInfo) -> Self:
        if self.beam is not None and self.nbest > self.beam:
            raise validation_error(f"nbest: {self.nbest} is more than the beam {self.beam}. Send a larger beam.")
        characters = self.nbest * sum(map(len, self.text))
        # an engine without token probabilities scores each translation again, and the response grows
        if self.token_probabilities and info.context and characters > info.context.characters:
            message = (
                f"token_probabilities: {characters:,} characters, counted once for each of {self.nbest} translations, "
                f"but at most {info.context.characters:,} in one request. Send a smaller nbest or less text."
            )
            raise validation_error(message, TOO_LONG)
        return self


class AlternativesRequest(ModelRequest):
    text: Sentence
    """One sentence."""
    prefix: Prefix = ""
    """Beginning of the translation to keep."""
    count: Annotated[int, NumberLimit("alternatives")] = 5
    """Number of continuations."""


class ScoreRequest(NamedModelRequest):
    source: SentenceOrEmpty
    """Source text; empty for a language model."""
    target: Sentence
    """Text or label to score."""


class AttentionRequest(NamedModelRequest):
    text: Sentence
    """One sentence."""
    target: Sentence | None = None
    """Translation whose attention is shown; by default the model's own."""


class SearchTreeRequest(ModelRequest):
    text: Sentence
    """One sentence."""
    beam: Beam | None = None
    """Beam width; by default the model's."""


class ClassifyRequest(NamedModelRequest):
    text: Texts
    """One text or several."""


# Responses: plain dicts with these keys. A test validates real responses against the OpenAPI document.


@documented
class Status(TypedDict):
    status: Literal["ok", "ready"]


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
    """Engine that runs the search: torch or ctranslate2."""
    parameters: int
    views: list[Literal["attention", "tree", "positions", "curves"]]
    """Views of the model, each at this name under /v1."""
    default: bool
    """The model that is used for its task if a request names none."""


@documented
class ModelsResponse(TypedDict):
    models: list[ModelInfo]
    limits: RequestLimits


@documented
class TokenProbability(TypedDict):
    token: str
    """▁ marks the start of a word; </s> is the end."""
    probability: float


@documented
class AlternativeTranslation(TypedDict):
    text: str
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
    """The model finds its output less probable than nearly all outputs for its dev set."""
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
    score: float
    is_finished: bool
    """The translation ends after the prefix."""


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
class LabelPrediction(TypedDict):
    label: str
    probability: float
    probabilities: dict[str, float]
    """Probability of each label."""
    truncated: bool
    """The text is too long for the model; only its beginning was read."""


@documented
class ClassifyResponse(TypedDict):
    labels: list[LabelPrediction]
    """One per text, in order."""
