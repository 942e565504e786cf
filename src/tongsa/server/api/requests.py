"""What a client may send: one frozen dataclass for each question. They are what is checked, and what is documented."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, TypeVar

from tongsa import config as settings
from tongsa.data.normalize import normalize
from tongsa.errors import InputError
from tongsa.server.config import RequestLimits
from tongsa.server.errors import APIError, bad_request_error, too_long_error

T = TypeVar("T")
MAX_COMBINING_MARKS = 200
"""Combining marks in a row; people write two or three."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class GlossaryTerm:
    source: str
    target: str
    """How it is to appear."""


@dataclass(frozen=True, kw_only=True)
class ModelSelector:
    """Which model is meant: by its name, by its languages, or the first."""

    model: str | None = None
    """Its name, as /v1/models tells it."""
    source_language: str | None = None
    """The language of the text, such as en."""
    target_language: str | None = None
    """The language wanted, such as ko."""


@dataclass(frozen=True, kw_only=True)
class TranslateRequest(ModelSelector):
    text: str | tuple[str, ...]
    """One text or several, of any number of sentences each."""
    nbest: int = 1
    """How many translations of each sentence."""
    beam: int | None = None
    """Width of the search; the model's own by default."""
    alignments: bool = False
    """Tell which word came from which."""
    word_probabilities: bool = False
    """Tell how sure the model was of each word."""
    token_probabilities: bool = False
    """Tell each piece of every translation, </s> last, with its probability; characters count nbest times."""
    glossary: tuple[GlossaryTerm, ...] = ()
    """Words that must be translated in a given way."""
    prefix: str = ""
    """How the translation begins; for one text of one sentence."""
    stream: bool = False
    """Answer with one line for each sentence, as soon as it is ready."""

    def check(self, limits: RequestLimits) -> None:
        check_texts(self.texts, limits)
        _check_range("nbest", self.nbest, limits.nbest)
        if self.beam is not None:
            _check_range("beam", self.beam, limits.beam)
            if self.nbest > self.beam:
                raise bad_request_error(f"nbest {self.nbest} is more than the beam {self.beam}; ask for a wider beam")
        if self.token_probabilities:
            self._check_token_probabilities(limits)
        check_glossary(self.glossary, limits)
        check_prefix_length(self.prefix, limits)

    def _check_token_probabilities(self, limits: RequestLimits) -> None:
        """An engine that tells no probabilities leaves each translation to be scored; and the answer grows."""
        total = self.nbest * sum(map(len, self.texts))
        if total > limits.characters:
            raise too_long_error(
                f"piece_probabilities: {total:,} characters, counted once for each of {self.nbest} translations: "
                f"at most {limits.characters:,} in one request; ask for fewer translations, or send less"
            )

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if isinstance(self.text, str) else self.text


@dataclass(frozen=True, kw_only=True)
class AlternativesRequest(ModelSelector):
    text: str
    """One sentence."""
    prefix: str = ""
    """The beginning that is to be kept."""
    count: int = 5
    """How many ways to go on."""

    def check(self, limits: RequestLimits) -> None:
        check_sentence(self.text, limits)
        _check_range("count", self.count, limits.alternatives)
        check_prefix_length(self.prefix, limits)


@dataclass(frozen=True, kw_only=True)
class ScoreRequest:
    source: str
    target: str
    model: str | None = None

    def check(self, limits: RequestLimits) -> None:
        check_sentence(self.source or "-", limits)  # a language model has none
        check_sentence(self.target, limits)


@dataclass(frozen=True, kw_only=True)
class AttentionRequest:
    text: str
    """One sentence."""
    model: str | None = None
    target: str | None = None
    """Look along this translation, not along the model's own."""

    def check(self, limits: RequestLimits) -> None:
        check_sentence(self.text, limits)
        if self.target is not None:
            check_sentence(self.target, limits)


@dataclass(frozen=True, kw_only=True)
class SearchTreeRequest(ModelSelector):
    text: str
    """One sentence."""
    beam: int | None = None

    def check(self, limits: RequestLimits) -> None:
        check_sentence(self.text, limits)
        if self.beam is not None:
            _check_range("beam", self.beam, limits.beam)


@dataclass(frozen=True, kw_only=True)
class ModelRequest(ModelSelector):
    """About a model itself, whatever the text."""

    def check(self, limits: RequestLimits) -> None:
        """Nothing in it can be too much."""


@dataclass(frozen=True, kw_only=True)
class ClassifyRequest:
    text: str | tuple[str, ...]
    """One text or several."""
    model: str | None = None

    def check(self, limits: RequestLimits) -> None:
        check_texts(self.texts, limits)

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if isinstance(self.text, str) else self.text


def _check_range(name: str, value: int, maximum: int) -> None:
    if not 1 <= value <= maximum:
        raise bad_request_error(f"{name} {value}: give a whole number from 1 to {maximum}")


def check_texts(texts: tuple[str, ...], limits: RequestLimits) -> None:
    if not texts:
        raise bad_request_error("text: an empty list; give at least one text")
    if len(texts) > limits.texts:
        raise too_long_error(f"{len(texts)} texts: at most {limits.texts} in one request; send them in several")
    if (total := sum(map(len, texts))) > limits.characters:
        raise too_long_error(
            f"{total:,} characters: at most {limits.characters:,} in one request; send them in several"
        )
    if any(map(has_too_many_marks, texts)):
        raise bad_request_error(
            f"more than {MAX_COMBINING_MARKS} marks on one letter; leave out those that nobody can read"
        )


def has_too_many_marks(text: str) -> bool:
    """Whether so many marks follow each other that bringing them into order, which takes their square, takes long."""
    run = 0
    for character in () if text.isascii() else text:
        kind = unicodedata.category(character)[0]
        if kind == "M":
            run += 1
            if run > MAX_COMBINING_MARKS:
                return True
        elif kind != "C" or character.isspace():  # a control character is left out, and the marks are neighbours
            run = 0
    return False


def check_sentence(text: str, limits: RequestLimits) -> None:
    if not normalize(text):
        raise bad_request_error("an empty text has nothing to look at; give a sentence")
    if len(text) > limits.sentence_characters:
        raise too_long_error(
            f"{len(text):,} characters: at most {limits.sentence_characters:,} here; give one sentence"
        )


def check_glossary(glossary: tuple[GlossaryTerm, ...], limits: RequestLimits) -> None:
    if len(glossary) > limits.glossary_terms:
        raise too_long_error(f"{len(glossary)} terms: at most {limits.glossary_terms} in one request")
    for at, term in enumerate(glossary):
        for side in (term.source, term.target):
            if not normalize(side):
                raise bad_request_error(f"terms[{at}]: an empty side; give source and target")
            if len(side) > limits.term_characters:
                raise too_long_error(f"terms[{at}]: at most {limits.term_characters} characters on either side")


def check_prefix_length(prefix: str, limits: RequestLimits) -> None:
    if len(prefix) > limits.sentence_characters:
        raise too_long_error(f"prefix: {len(prefix):,} characters; at most {limits.sentence_characters:,}")


def parse_request(request_type: type[T], content: Mapping[str, Any], limits: RequestLimits) -> T:
    """The question that a table stands for, or a sentence about the first key that does not fit; null is not given."""
    given = {key: value for key, value in content.items() if value is not None}
    for key, value in given.items():
        if isinstance(value, list) and len(value) > (
            most := max(limits.texts, limits.glossary_terms)
        ):  # before each is read
            raise too_long_error(f"{key}: {len(value):,} entries, and at most {most:,} in one request; send several")
    names = {field.name: _is_required(field) for field in fields(request_type)}  # type: ignore[arg-type]
    missing = [name for name, needed in names.items() if needed and name not in given]
    if missing and given.keys() <= names.keys():  # a key that is unknown is a better hint
        raise bad_request_error(f"{missing[0]} is missing; {request_type.__name__} is described at /docs")
    try:
        return settings.build_config(request_type, given)
    except InputError as error:
        raise bad_request_error(str(error)) from None


def _is_required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def parse_json_object(body: bytes) -> dict[str, Any]:
    """A JSON object; a lone surrogate, which no answer could hold, becomes U+FFFD."""
    try:
        content = json.loads(body.decode("utf-8"), parse_constant=_reject_constant)
        content = _replace_surrogates(content)
    except (ValueError, RecursionError):
        raise APIError(
            400, "bad_request", 'the body is not JSON in UTF-8; send an object such as {"text": "…"}'
        ) from None
    if not isinstance(content, dict):
        raise APIError(400, "bad_request", 'the body is JSON, but no object; send one such as {"text": "…"}')
    return content


def _reject_constant(name: str) -> Any:
    raise ValueError(name)


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value
