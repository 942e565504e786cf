"""Checks of translations: loops, unusual length, copied words, source tokens without attention.

A flag marks a suspicious output, which may still be right. If other settings may help, the sentence is decoded again
with a penalty against the fault. The new output is kept if it has fewer flags.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tongsa.data.repetition import is_looping

OutputFlag = Literal["loop", "length", "copy", "coverage"]

LENGTH_RATIO_RANGE = (0.25, 4.0)
"""Range of output tokens per source token; outside, the length is unusual."""
LENGTH_SLACK_TOKENS = 6
"""Tokens by which the lengths may always differ: short texts vary."""
COVERAGE_CHECK_RATIO = 0.7
"""Output tokens per source token below which coverage is checked."""
MIN_TOKEN_COVERAGE = 0.2
"""A source token with a smaller sum of attention is uncovered."""
MAX_UNCOVERED_FRACTION = 0.4
"""Fraction of uncovered source tokens above which the output is flagged."""

RETRY_SETTINGS: Mapping[OutputFlag, Mapping[str, Any]] = {
    "loop": {"no_repeat_ngram": 3, "repetition_penalty": 1.2},
    "length": {"no_repeat_ngram": 4, "coverage_penalty": 0.2},
    "coverage": {"coverage_penalty": 0.4, "alpha": 1.0},
}
"""Decoding settings against each fault. None helps against a copy: the model knows no better translation."""


class CheckedOutput(NamedTuple):
    """An output and its source; lengths are in tokens."""

    source: str
    target: str
    source_length: int
    target_length: int
    source_language: str = ""
    target_language: str = ""


def check_text(output: CheckedOutput) -> list[OutputFlag]:
    """Return the flags that need no attention weights."""
    flags: list[OutputFlag] = []
    if is_looping(output.source, output.target):
        flags.append("loop")
    if is_length_outlier(output.source_length, output.target_length):
        flags.append("length")
    if is_copy(output):
        flags.append("copy")
    return flags


def is_length_outlier(source_length: int, target_length: int) -> bool:
    low, high = LENGTH_RATIO_RANGE
    return (
        target_length > high * source_length + LENGTH_SLACK_TOKENS
        or target_length < low * source_length - LENGTH_SLACK_TOKENS
    )


def is_copy(output: CheckedOutput) -> bool:
    """Return whether most words of the output are words of the source, which is in another language.

    Names and numbers may be copied.
    """
    if output.source_language == output.target_language:
        return False
    source, target = _translatable_words(output.source), _translatable_words(output.target)
    if len(target) < 3:
        return False
    shared = (Counter(source) & Counter(target)).total()
    return shared > 0.7 * len(target)


def _translatable_words(text: str) -> list[str]:
    """Return the words of letters, without capitalized words inside a sentence, which are probably names."""
    words = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFC", text))
    return [word.casefold() for i, word in enumerate(words) if i == 0 or not word[0].isupper()]


def needs_coverage_check(output: CheckedOutput) -> bool:
    """Return whether the output is short enough to check coverage, which costs as much as scoring it."""
    return (
        output.source_length >= LENGTH_SLACK_TOKENS
        and output.target_length < COVERAGE_CHECK_RATIO * output.source_length
    )


def lacks_coverage(attention: Sequence[Sequence[float]]) -> bool:  # (target token, source token)
    """Return whether many source tokens got little attention (coverage as in Wu et al. 2016, equation 14)."""
    sums = [math.fsum(column) for column in zip(*attention, strict=True)]
    uncovered = sum(coverage < MIN_TOKEN_COVERAGE for coverage in sums)
    return len(sums) >= LENGTH_SLACK_TOKENS and uncovered > MAX_UNCOVERED_FRACTION * len(sums)


def retry_settings(flags: Sequence[OutputFlag], *, has_cross_attention: bool) -> dict[str, Any]:
    """Return decoding settings for another search, or {} if none helps against these flags."""
    settings: dict[str, Any] = {}
    for flag in flags:
        settings |= RETRY_SETTINGS.get(flag, {})
    if not has_cross_attention:
        settings.pop("coverage_penalty", None)
    return settings
