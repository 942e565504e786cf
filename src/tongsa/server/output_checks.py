"""What is suspicious about a translation: loops, outliers of length, copies, and a source that was hardly looked at.

A flag is a doubt, not a verdict. Where another search may help, one is made with a penalty against what was seen, and
taken if it leaves fewer doubts.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

OutputFlag = Literal["loop", "length", "copy", "coverage"]

REPEATED_PHRASE_LENGTHS = range(1, 5)
"""Words that come again and again: one, or up to four in a row."""
MIN_REPETITIONS = 4
"""So often one behind the other is a loop; a run of several words already when it comes once less."""
MIN_TRIPLED_WORD_LETTERS = 3
"""A word of so many is a loop already when it comes three times, unless the source has something three times."""
LENGTH_RATIO_RANGE = (0.25, 4.0)
"""Pieces of the output for one of the source, beyond which one of them is an outlier; short texts vary."""
LENGTH_SLACK_TOKENS = 6
"""Pieces by which a length may always differ."""
COVERAGE_CHECK_RATIO = 0.7
"""An output with fewer pieces than this for each of the source has its attention looked at."""
MIN_TOKEN_COVERAGE = 0.2
"""A source piece that got less attention than this in all was hardly looked at."""
MAX_UNCOVERED_FRACTION = 0.4
"""So many of a source's pieces hardly looked at are a doubt."""

RETRY_SETTINGS: Mapping[OutputFlag, Mapping[str, Any]] = {
    "loop": {"no_repeat_ngram": 3, "repetition_penalty": 1.2},
    "length": {"no_repeat_ngram": 4, "coverage_penalty": 0.2},
    "coverage": {"coverage": 0.4, "alpha": 1.0},
}
"""Settings of the search that work against a fault. Against a copy none does: the model knows nothing better."""


class CheckedOutput(NamedTuple):
    """An output beside its source."""

    source: str
    target: str
    source_length: int
    target_length: int
    source_language: str = ""
    target_language: str = ""


def check_text(output: CheckedOutput) -> list[OutputFlag]:
    """What the texts alone tell."""
    found: list[OutputFlag] = []
    tripled = has_tripled_word(output.target, MIN_TRIPLED_WORD_LETTERS) and not (
        has_tripled_word(output.source) or _TRIPLED_LETTERS.search(output.source)
    )
    if tripled or (has_loop(output.target) and not has_loop(output.source)):
        found.append("loop")
    if is_length_outlier(output.source_length, output.target_length):
        found.append("length")
    if is_copy(output):
        found.append("copy")
    return found


def has_loop(text: str) -> bool:
    """Whether the same words come again and again, or the same characters where no spaces are written."""
    words = text.casefold().split()
    return (
        _has_repeated_phrase(words) or _has_repeated_phrase(strip_punctuation(words)) or bool(_LETTER_LOOP.search(text))
    )


def _has_repeated_phrase(words: Sequence[str]) -> bool:
    for length in REPEATED_PHRASE_LENGTHS:
        times = MIN_REPETITIONS if length == 1 else MIN_REPETITIONS - 1
        repeated = 0
        for at in range(length, len(words)):
            repeated = repeated + 1 if words[at] == words[at - length] else 0
            if repeated >= length * (times - 1):
                return True
    return False


def has_tripled_word(text: str, min_letters: int = 0) -> bool:
    """Whether a word of at least so many letters comes three times, one behind the other."""
    words = strip_punctuation(text.casefold().split())
    rows = zip(words, words[1:], words[2:], strict=False)
    return any(one == two == three and sum(map(str.isalpha, one)) >= min_letters for one, two, three in rows)


def strip_punctuation(words: Sequence[str]) -> list[str]:
    """The words without the punctuation around them; those that are nothing else are left out."""
    kept = (word.strip("".join(sign for sign in word if unicodedata.category(sign)[0] in "PS")) for word in words)
    return [word for word in kept if word]


_LETTER_LOOP = re.compile(r"([^\W\d_]{2,8}?)\1{5}")
"""Two to eight letters six times, without a space."""
_TRIPLED_LETTERS = re.compile(r"([^\W\d_]{1,8}?)\1\1")
"""Three times, as 하하하 and 똑똑똑 are written."""


def is_length_outlier(source_length: int, target_length: int) -> bool:
    least, most = LENGTH_RATIO_RANGE
    return (
        target_length > most * source_length + LENGTH_SLACK_TOKENS
        or target_length < least * source_length - LENGTH_SLACK_TOKENS
    )


def is_copy(output: CheckedOutput) -> bool:
    """Whether most of the output's words are the source's, between two languages; names and numbers may be copied."""
    if output.source_language == output.target_language:
        return False
    source, target = _translatable_words(output.source), _translatable_words(output.target)
    if len(target) < 3:
        return False
    shared = (Counter(source) & Counter(target)).total()
    return shared > 0.7 * len(target)


def _translatable_words(text: str) -> list[str]:
    """Those that could have been translated: in letters, and not a name in the middle of a sentence."""
    words = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFC", text))
    return [word.casefold() for at, word in enumerate(words) if at == 0 or not word[0].isupper()]


def needs_coverage_check(output: CheckedOutput) -> bool:
    """Whether its attention is worth a look, which costs as much as scoring it."""
    return (
        output.source_length >= LENGTH_SLACK_TOKENS
        and output.target_length < COVERAGE_CHECK_RATIO * output.source_length
    )


def lacks_coverage(attention: Sequence[Sequence[float]]) -> bool:  # (target piece, source piece)
    """Whether much of the source was hardly looked at in all (the coverage of Wu et al. 2016, equation 14)."""
    sums = [math.fsum(column) for column in zip(*attention, strict=True)]
    return len(sums) >= LENGTH_SLACK_TOKENS and sum(
        total < MIN_TOKEN_COVERAGE for total in sums
    ) > MAX_UNCOVERED_FRACTION * len(sums)


def retry_settings(flags: Sequence[OutputFlag], *, has_cross_attention: bool) -> dict[str, Any]:
    """How to search again; nothing if no other search helps. `watched`: the model has attention over its source."""
    settings: dict[str, Any] = {}
    for flag in flags:
        settings |= RETRY_SETTINGS.get(flag, {})
    if not has_cross_attention:
        settings.pop("coverage", None)
    return settings
