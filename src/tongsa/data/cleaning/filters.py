"""Filters of pairs as pure functions: each measures a number, which thresholds keep or drop.

A filter of sides measures each side with its language; a filter of pairs measures both together.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tongsa.data.cleaning.config import FilterConfig
from tongsa.data.cleaning.language import language_probability
from tongsa.data.inline_marks import MARKUP, NUMBER, PLACEHOLDER, URL, digits
from tongsa.data.language_id import LANGUAGE_NAMES, LANGUAGE_SCRIPTS
from tongsa.data.mojibake import restore_text
from tongsa.data.unicode_scripts import script_counts

CHARACTER_LANGUAGES = frozenset({"ko", "ja", "zh", "th", "lo", "my", "km"})
"""Languages whose texts are measured in characters: without spaces, or with words of several morphemes."""
MAX_WORDS, MAX_CHARACTERS = 250, 1000
RATIO_SLACK_CHARACTERS = 10
"""Characters added to both lengths: short texts differ more."""
MAX_RATIO = 6.0
COPY_LETTERS = 16
"""Shorter copies are names and numbers."""
MIN_SCRIPT_SHARE, MIN_SCRIPT_LETTERS = 0.1, 8
"""A text with fewer letters (CD-ROM) has no script."""
MIN_LANGUAGE_PROBABILITY = 0.1
MAX_NUMBER_SHARE = 0.5
MIN_NUMBER_DIGITS, MIN_NUMBERS = 2, 2
"""Smaller numbers are often words in a translation. A pair with fewer numbers is not judged."""
MAX_URL_DIFFERENCE, MAX_PLACEHOLDER_DIFFERENCE = 1, 2
NEAR_SIMILARITY = 0.9


class Limits(NamedTuple):
    """Smallest and largest value that is kept; None is no limit."""

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        bounds = [("at least", self.low), ("at most", self.high)]
        return " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)


class Filter(NamedTuple):
    """A measurement and its thresholds."""

    measure: Callable[[str, str], float]
    """Function of a text and its language, or of source and target."""
    is_per_side: bool
    unit: str
    """Noun after the number in a message."""
    limits: Callable[[Any, tuple[str, str], int], Limits]
    """Function of the setting (True or a threshold), the languages, and the side (0 for a filter of pairs)."""
    edges: tuple[float, ...]
    """Edges of the bins of its histogram."""


def uses_characters(language: str) -> bool:
    return language in CHARACTER_LANGUAGES


def text_length(text: str, language: str) -> float:
    return len(text) if uses_characters(language) else len(text.split())


def length_ratio(source: str, target: str) -> float:
    return (len(target) + RATIO_SLACK_CHARACTERS) / (len(source) + RATIO_SLACK_CHARACTERS)


def copied_letters(source: str, target: str) -> float:
    """Return the number of letters and digits of a target that equals its source in them; 0 if they differ."""
    if len(source) > 4 * len(target) + 20:  # cannot be equal, and saves time
        return 0
    first, second = ("".join(filter(str.isalnum, text.casefold())) for text in (source, target))
    return len(first) if first == second else 0


def script_share(text: str, language: str) -> float:
    """Return the share of the letters in the script of the language; 1 for few letters or an unknown language."""
    script = LANGUAGE_SCRIPTS.get(language, "LATIN" if language in LANGUAGE_NAMES else "")
    if not script or (script == "LATIN" and text.isascii()):
        return 1
    counts = script_counts(text)
    return 1 if counts.total() < MIN_SCRIPT_LETTERS else counts[script] / counts.total()


def markup_difference(source: str, target: str) -> float:
    """Return the number of tags and entities on one side only; those of both sides are what the text is about."""
    marks = [Counter(MARKUP.findall(text.lower())) if "<" in text or "&" in text else None for text in (source, target)]
    if not any(marks):
        return 0
    first, second = (counter or Counter() for counter in marks)
    return ((first - second) + (second - first)).total()


def count_damage(source: str, target: str) -> float:
    """Return the number of sides with lost characters."""
    return sum(restore_text(text) is not None for text in (source, target) if not text.isascii() or "??" in text)


def unmatched_numbers(source: str, target: str) -> float:
    """Return the share of the numbers that the other side does not have; 0 if there are few."""
    first, second = (
        Counter(number for match in NUMBER.findall(text) if len(number := digits(match)) >= MIN_NUMBER_DIGITS)
        for text in (source, target)
    )
    total = first.total() + second.total()
    return (total - 2 * (first & second).total()) / total if total >= MIN_NUMBERS else 0


def url_difference(source: str, target: str) -> float:
    counts = [len(URL.findall(text)) if "." in text or "@" in text else 0 for text in (source, target)]
    return abs(counts[0] - counts[1])


def placeholder_difference(source: str, target: str) -> float:
    """Return the number of placeholders without a counterpart, entities and addresses not counted."""
    first, second = (Counter(_placeholders(text)) for text in (source, target))
    return max((first - second).total(), (second - first).total())


def _placeholders(text: str) -> list[str]:
    if "{" not in text and "%" not in text:
        return []
    return [match[0] for match in PLACEHOLDER.finditer(text) if match[0][0] in "{$%#"]


def _at_least(default: float) -> Callable[[Any, tuple[str, str], int], Limits]:
    return lambda setting, *_: Limits(default if setting is True else setting, None)


def _at_most(default: float) -> Callable[[Any, tuple[str, str], int], Limits]:
    return lambda setting, *_: Limits(None, default if setting is True else setting)


def _length_limits(setting: Any, languages: tuple[str, str], side: int) -> Limits:
    if setting is True:
        return Limits(1, MAX_CHARACTERS if uses_characters(languages[side]) else MAX_WORDS)
    return Limits(*setting)


def _ratio_limits(setting: Any, *_: object) -> Limits:
    ratio = MAX_RATIO if setting is True else setting
    return Limits(1 / ratio, ratio)


def _copy_limits(setting: Any, languages: tuple[str, str], _: int) -> Limits:
    """Return no limit between equal languages, as in normalization and dialogues, unless there is a number."""
    if setting is True:
        return Limits() if languages[0] and languages[0] == languages[1] else Limits(None, COPY_LETTERS - 1)
    return Limits(None, setting - 1)


_COUNTS = (*map(float, range(9)), 16.0, 64.0)
_SHARES = tuple(i / 20 for i in range(21))
_LENGTHS = (*map(float, range(10)), *(float(round(10 * 2 ** (i / 4))) for i in range(41)))
_RATIOS = tuple(2 ** (i / 4) for i in range(-24, 25))
LENGTH_EDGES, RATIO_EDGES = _LENGTHS, _RATIOS

FILTERS: Mapping[str, Filter] = {
    "length": Filter(text_length, True, "words", _length_limits, _LENGTHS),
    "ratio": Filter(length_ratio, False, "ratio of the lengths", _ratio_limits, _RATIOS),
    "copies": Filter(copied_letters, False, "copied letters", _copy_limits, _LENGTHS),
    "script": Filter(script_share, True, "of the letters in its script", _at_least(MIN_SCRIPT_SHARE), _SHARES),
    "language": Filter(
        language_probability, True, "probability of its language", _at_least(MIN_LANGUAGE_PROBABILITY), _SHARES
    ),
    "markup": Filter(markup_difference, False, "tags and entities on one side", _at_most(0), _COUNTS),
    "mojibake": Filter(count_damage, False, "damaged sides", _at_most(0), (0.0, 1.0, 2.0, 3.0)),
    "numbers": Filter(unmatched_numbers, False, "of the numbers differ", _at_most(MAX_NUMBER_SHARE), _SHARES),
    "urls": Filter(url_difference, False, "addresses more on one side", _at_most(MAX_URL_DIFFERENCE), _COUNTS),
    "placeholders": Filter(
        placeholder_difference, False, "placeholders differ", _at_most(MAX_PLACEHOLDER_DIFFERENCE), _COUNTS
    ),
}
"""Filters that need one pair alone; each is the name of a setting of [data.filters]."""


class Column(NamedTuple):
    """One number of a pair: that of a filter for one side, or for both."""

    filter_name: str
    side: int | None
    """0 source, 1 target, None for a filter of pairs."""

    def value(self, texts: tuple[str, str], languages: tuple[str, str]) -> float:
        measure = FILTERS[self.filter_name].measure
        return measure(*texts) if self.side is None else measure(texts[self.side], languages[self.side])

    def unit(self, languages: tuple[str, str]) -> str:
        if self.filter_name == "length" and self.side is not None and uses_characters(languages[self.side]):
            return "characters"
        return FILTERS[self.filter_name].unit

    def label(self, languages: tuple[str, str]) -> str:
        side = "" if self.side is None else f"{('source', 'target')[self.side]} "
        return side + self.unit(languages)


def measured_columns(config: FilterConfig, sides: tuple[int, ...]) -> list[Column]:
    """Return the numbers that the settings need; a task with one text per pair has filters of sides only."""
    columns: list[Column] = []
    for name in config.filter_names:
        if name not in FILTERS:
            continue
        if FILTERS[name].is_per_side:
            columns += [Column(name, side) for side in sides]
        elif len(sides) == 2 or name in ("markup", "mojibake"):
            columns.append(Column(name, None))
    return columns
