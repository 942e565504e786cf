"""What a client may send: one frozen dataclass for each question. They are what is checked, and what is documented."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, TypeVar

from tongsa import config as settings
from tongsa.errors import InputError
from tongsa.serving.config import Limits
from tongsa.serving.refusal import Refusal, bad, too_long
from tongsa.text.normalise import normalise

T = TypeVar("T")
MARKS = 200
"""Combining marks in a row; people write two or three."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class TermPair:
    source: str
    target: str
    """How it is to appear."""


@dataclass(frozen=True, kw_only=True)
class Which:
    """Which model is meant: by its name, by its languages, or the first."""

    model: str | None = None
    """Its name, as /v1/models tells it."""
    source: str | None = None
    """The language of the text, such as en."""
    target: str | None = None
    """The language wanted, such as ko."""


@dataclass(frozen=True, kw_only=True)
class TranslateRequest(Which):
    text: str | tuple[str, ...]
    """One text or several, of any number of sentences each."""
    nbest: int = 1
    """How many translations of each sentence."""
    beam: int | None = None
    """Width of the search; the model's own by default."""
    alignments: bool = False
    """Tell which word came from which."""
    probabilities: bool = False
    """Tell how sure the model was of each word."""
    piece_probabilities: bool = False
    """Tell each piece of every translation, </s> last, with its probability; characters count nbest times."""
    terms: tuple[TermPair, ...] = ()
    """Words that must be translated in a given way."""
    prefix: str = ""
    """How the translation begins; for one text of one sentence."""
    stream: bool = False
    """Answer with one line for each sentence, as soon as it is ready."""

    def check(self, limits: Limits) -> None:
        check_texts(self.texts, limits)
        _between("nbest", self.nbest, limits.nbest)
        if self.beam is not None:
            _between("beam", self.beam, limits.beam)
            if self.nbest > self.beam:
                raise bad(f"nbest {self.nbest} is more than the beam {self.beam}; ask for a wider beam")
        if self.piece_probabilities:
            self._check_pieces(limits)
        check_terms(self.terms, limits)
        check_prefix(self.prefix, limits)

    def _check_pieces(self, limits: Limits) -> None:
        """An engine that tells no probabilities leaves each translation to be scored; and the answer grows."""
        total = self.nbest * sum(map(len, self.texts))
        if total > limits.characters:
            raise too_long(
                f"piece_probabilities: {total:,} characters, counted once for each of {self.nbest} translations: "
                f"at most {limits.characters:,} in one request; ask for fewer translations, or send less"
            )

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if isinstance(self.text, str) else self.text


@dataclass(frozen=True, kw_only=True)
class AlternativesRequest(Which):
    text: str
    """One sentence."""
    prefix: str = ""
    """The beginning that is to be kept."""
    count: int = 5
    """How many ways to go on."""

    def check(self, limits: Limits) -> None:
        check_look(self.text, limits)
        _between("count", self.count, limits.alternatives)
        check_prefix(self.prefix, limits)


@dataclass(frozen=True, kw_only=True)
class ScoreRequest:
    source: str
    target: str
    model: str | None = None

    def check(self, limits: Limits) -> None:
        check_look(self.source or "-", limits)  # a language model has none
        check_look(self.target, limits)


@dataclass(frozen=True, kw_only=True)
class AttentionRequest:
    text: str
    """One sentence."""
    model: str | None = None
    target: str | None = None
    """Look along this translation, not along the model's own."""

    def check(self, limits: Limits) -> None:
        check_look(self.text, limits)
        if self.target is not None:
            check_look(self.target, limits)


@dataclass(frozen=True, kw_only=True)
class TreeRequest(Which):
    text: str
    """One sentence."""
    beam: int | None = None

    def check(self, limits: Limits) -> None:
        check_look(self.text, limits)
        if self.beam is not None:
            _between("beam", self.beam, limits.beam)


@dataclass(frozen=True, kw_only=True)
class ModelRequest(Which):
    """About a model itself, whatever the text."""

    def check(self, limits: Limits) -> None:
        """Nothing in it can be too much."""


@dataclass(frozen=True, kw_only=True)
class ClassifyRequest:
    text: str | tuple[str, ...]
    """One text or several."""
    model: str | None = None

    def check(self, limits: Limits) -> None:
        check_texts(self.texts, limits)

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if isinstance(self.text, str) else self.text


def _between(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise bad(f"{name} {value}: give a whole number from 1 to {most}")


def check_texts(texts: tuple[str, ...], limits: Limits) -> None:
    if not texts:
        raise bad("text: an empty list; give at least one text")
    if len(texts) > limits.texts:
        raise too_long(f"{len(texts)} texts: at most {limits.texts} in one request; send them in several")
    if (total := sum(map(len, texts))) > limits.characters:
        raise too_long(f"{total:,} characters: at most {limits.characters:,} in one request; send them in several")
    if any(map(piled, texts)):
        raise bad(f"more than {MARKS} marks on one letter; leave out those that nobody can read")


def piled(text: str) -> bool:
    """Whether so many marks follow each other that bringing them into order, which takes their square, takes long."""
    run = 0
    for character in () if text.isascii() else text:
        kind = unicodedata.category(character)[0]
        if kind == "M":
            run += 1
            if run > MARKS:
                return True
        elif kind != "C" or character.isspace():  # a control character is left out, and the marks are neighbours
            run = 0
    return False


def check_look(text: str, limits: Limits) -> None:
    if not normalise(text):
        raise bad("an empty text has nothing to look at; give a sentence")
    if len(text) > limits.look_characters:
        raise too_long(f"{len(text):,} characters: at most {limits.look_characters:,} here; give one sentence")


def check_terms(terms: tuple[TermPair, ...], limits: Limits) -> None:
    if len(terms) > limits.terms:
        raise too_long(f"{len(terms)} terms: at most {limits.terms} in one request")
    for at, term in enumerate(terms):
        for side in (term.source, term.target):
            if not normalise(side):
                raise bad(f"terms[{at}]: an empty side; give source and target")
            if len(side) > limits.term_characters:
                raise too_long(f"terms[{at}]: at most {limits.term_characters} characters on either side")


def check_prefix(prefix: str, limits: Limits) -> None:
    if len(prefix) > limits.look_characters:
        raise too_long(f"prefix: {len(prefix):,} characters; at most {limits.look_characters:,}")


def parsed(kind: type[T], content: Mapping[str, Any], limits: Limits) -> T:
    """The question that a table stands for, or a sentence about the first key that does not fit; null is not given."""
    given = {key: value for key, value in content.items() if value is not None}
    for key, value in given.items():
        if isinstance(value, list) and len(value) > (most := max(limits.texts, limits.terms)):  # before each is read
            raise too_long(f"{key}: {len(value):,} entries, and at most {most:,} in one request; send several")
    names = {field.name: _needed(field) for field in fields(kind)}  # type: ignore[arg-type]
    missing = [name for name, needed in names.items() if needed and name not in given]
    if missing and given.keys() <= names.keys():  # a key that is unknown is a better hint
        raise bad(f"{missing[0]} is missing; {kind.__name__} is described at /docs")
    try:
        return settings.build(kind, given)
    except InputError as error:
        raise bad(str(error)) from None


def _needed(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def table(body: bytes) -> dict[str, Any]:
    """A JSON object; a lone surrogate, which no answer could hold, becomes U+FFFD."""
    try:
        content = json.loads(body.decode("utf-8"), parse_constant=_no_number)
        content = _writable(content)
    except (ValueError, RecursionError):
        raise Refusal(
            400, "bad_request", 'the body is not JSON in UTF-8; send an object such as {"text": "…"}'
        ) from None
    if not isinstance(content, dict):
        raise Refusal(400, "bad_request", 'the body is JSON, but no object; send one such as {"text": "…"}')
    return content


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    return [_writable(item) for item in value] if isinstance(value, list) else value
