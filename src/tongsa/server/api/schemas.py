"""Requests and responses of /v1: pydantic models that validate strictly, and response types for the OpenAPI document.

Upper limits of fields are settings of the server (RequestLimits): validation takes them from its context, and the
JSON schema of a field names the limit, for openapi.py to fill in.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from tongsa.config import did_you_mean
from tongsa.data.normalize import normalize
from tongsa.server.config import RequestLimits
from tongsa.server.errors import APIError, ErrorBody, bad_request_error, documented, shorten, too_long_error
from tongsa.server.output_checks import OutputFlag

MAX_COMBINING_MARKS = 200
"""Consecutive combining marks; people write two or three. Normalization needs quadratic time for them."""
MAX_QUOTED_CHARACTERS = 80
TOO_LONG = "too_long"
"""Type of the validation errors that become 413; all others become 422."""
EXPECTED = {
    "string_type": "text. Send a string",
    "int_type": "a whole number. Send one such as 1",
    "bool_type": "true or false. Send one of them",
    "list_type": "a list. Send a JSON array",
    "model_type": "an object. Send a JSON object",
}
"""pydantic's error type → what the field needs, and the remedy."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def _error(message: str, error_type: str = "bad_request") -> PydanticCustomError:
    return PydanticCustomError(error_type, "{message}", {"message": message})


# Field types with limits


@dataclass(frozen=True)
class Limit:
    """Upper limit of a field, by its name in RequestLimits. Without a validation context there is no limit."""

    name: str
    keyword: ClassVar[str]
    """Keyword of JSON Schema for this limit."""

    def maximum(self, info: ValidationInfo) -> float:
        return getattr(info.context, self.name) if info.context else math.inf

    def check(self, value: Any, info: ValidationInfo) -> Any:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | {self.keyword: self.name}


@dataclass(frozen=True)
class NumberLimit(Limit):
    minimum: int = 1
    keyword = "maximum"

    def check(self, value: int, info: ValidationInfo) -> int:
        maximum = self.maximum(info)
        if not self.minimum <= value <= maximum:
            raise _error(f"{value} is out of range. Send a whole number from {self.minimum} to {maximum}.")
        return value

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return super().__get_pydantic_json_schema__(schema, handler) | {"minimum": self.minimum}


@dataclass(frozen=True)
class TextLimit(Limit):
    required: Literal["visible", "visible or empty", "nothing"] = "visible"
    """Content that the text needs."""
    keyword = "maxLength"

    def check(self, value: str, info: ValidationInfo) -> str:
        is_optional = self.required == "nothing" or (self.required == "visible or empty" and not value)
        if not is_optional and not normalize(value):
            raise _error("empty text. Send at least one visible character.")
        if len(value) > (maximum := self.maximum(info)):
            raise _error(f"{len(value):,} characters, but at most {maximum:,} are allowed. Shorten it.", TOO_LONG)
        check_marks(value)
        return value


@dataclass(frozen=True)
class ListLimit(Limit):
    keyword = "maxItems"

    def check(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, list) and len(value) > (maximum := self.maximum(info)):
            message = f"{len(value):,} entries, but at most {maximum:,} in one request. Send several requests."
            raise _error(message, TOO_LONG)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # before the entries: a huge list is rejected without reading them
        return core_schema.with_info_before_validator_function(self.check, handler(source))


@dataclass(frozen=True)
class TextsLimit(ListLimit):
    """One text or a list of texts; a single text becomes a list."""

    def check(self, value: Any, info: ValidationInfo) -> Any:
        return super().check([value] if isinstance(value, str) else value, info)

    def check_texts(self, texts: list[str], info: ValidationInfo) -> list[str]:
        if not texts:
            raise _error("empty list. Send at least one text.")
        total, maximum = sum(map(len, texts)), info.context.characters if info.context else math.inf
        if total > maximum:
            message = f"{total:,} characters, but at most {maximum:,} in one request. Send several requests."
            raise _error(message, TOO_LONG)
        for text in texts:
            check_marks(text)
        return texts

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = super().__get_pydantic_core_schema__(source, handler)
        return core_schema.with_info_after_validator_function(self.check_texts, schema)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        texts = super().__get_pydantic_json_schema__(schema, handler) | {"minItems": 1}
        return {"anyOf": [{"type": "string", "maxLength": "characters"}, texts]}


def check_marks(text: str) -> None:
    if has_too_many_marks(text):
        raise _error(f"more than {MAX_COMBINING_MARKS} combining marks on one letter. Remove them.")


def has_too_many_marks(text: str) -> bool:
    marks = 0
    for character in () if text.isascii() else text:
        category = unicodedata.category(character)[0]
        if category == "M":
            marks += 1
            if marks > MAX_COMBINING_MARKS:
                return True
        elif category != "C" or character.isspace():  # normalization removes control characters and joins the marks
            marks = 0
    return False


Texts = Annotated[list[str], TextsLimit("texts")]
Sentence = Annotated[str, TextLimit("sentence_characters")]
SentenceOrEmpty = Annotated[str, TextLimit("sentence_characters", "visible or empty")]
Prefix = Annotated[str, TextLimit("sentence_characters", "nothing")]
TermText = Annotated[str, TextLimit("term_characters")]
Beam = Annotated[int, NumberLimit("beam")]


# Requests


class RequestModel(BaseModel):
    """A JSON object with these fields and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True)


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
    glossary: Annotated[list[GlossaryTerm], ListLimit("glossary_terms")] = []
    """Terms that must be translated in a given way."""
    prefix: Prefix = ""
    """First words of the translation; for one text of one sentence."""
    stream: bool = False
    """Answer with one line per sentence, each sent when it is ready."""

    @model_validator(mode="after")
    def check_nbest(self, info: ValidationInfo) -> Self:
        if self.beam is not None and self.nbest > self.beam:
            raise _error(f"nbest: {self.nbest} is more than the beam {self.beam}. Ask for a wider beam.")
        characters = self.nbest * sum(map(len, self.text))
        # an engine without token probabilities scores each translation again, and the response grows
        if self.token_probabilities and info.context and characters > info.context.characters:
            message = (
                f"token_probabilities: {characters:,} characters, counted once for each of {self.nbest} translations, "
                f"but at most {info.context.characters:,} in one request. Ask for fewer translations or send less."
            )
            raise _error(message, TOO_LONG)
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
    """Translation to attend along; by default the model's own."""


class SearchTreeRequest(ModelRequest):
    text: Sentence
    """One sentence."""
    beam: Beam | None = None
    """Beam width; by default the model's."""


class ClassifyRequest(NamedModelRequest):
    text: Texts
    """One text or several."""


R = TypeVar("R", bound=RequestModel)


def parse_request(request_type: type[R], content: Mapping[str, Any], limits: RequestLimits) -> R:
    """Validate a request. Raise 422 or 413 for the first field that is wrong. null means the default."""
    values = {key: value for key, value in content.items() if value is not None}
    try:
        return request_type.model_validate(values, context=limits)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # an unknown field explains a missing one
        first = next((details for details in errors if details["type"] == "extra_forbidden"), errors[0])
        message = _error_message(first, request_type)
        raise (too_long_error(message) if first["type"] == TOO_LONG else bad_request_error(message)) from None


def _error_message(error: ErrorDetails, request_type: type[RequestModel]) -> str:
    """Return a sentence of the form `field: what is wrong. What to do.`."""
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in error["loc"]).removeprefix(".")
    error_type, context = error["type"], error.get("ctx", {})
    if "message" in context:
        return f"{path}: {context['message']}" if path else str(context["message"])
    if error_type == "missing":
        return f"{path}: this field is missing. /docs describes {request_type.__name__}."
    if error_type == "extra_forbidden":
        fields = request_type.model_fields if len(error["loc"]) == 1 else GlossaryTerm.model_fields
        return f"{path}: unknown field; {did_you_mean(str(error['loc'][-1]), fields)}"
    value = shorten(json.dumps(error["input"], ensure_ascii=False, default=str), MAX_QUOTED_CHARACTERS)
    if error_type == "literal_error":
        return f"{path}: {value} is not {context['expected']}. Send one of them."
    return f"{path}: {value} is not {EXPECTED[error_type]}."


def parse_json_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object. Lone surrogates, which UTF-8 cannot encode, become U+FFFD."""
    try:
        content = _replace_surrogates(json.loads(body.decode("utf-8"), parse_constant=_reject_constant))
    except (ValueError, RecursionError):
        message = 'The body is not JSON in UTF-8. Send an object such as {"text": "…"}.'
        raise APIError(400, "bad_request", message) from None
    if not isinstance(content, dict):
        message = 'The body is JSON, but not an object. Send one such as {"text": "…"}.'
        raise APIError(400, "bad_request", message)
    return content


def _reject_constant(name: str) -> Any:
    """Reject NaN and Infinity, which are not JSON."""
    raise ValueError(name)


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value


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
    """Occurrences in the source."""
    occurrences: int
    """Occurrences in the translation."""
    skipped_reason: NotRequired[str]
    """Why the search did not enforce the term."""
    satisfied: bool
    """The translation has the term at least as often as expected."""


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
