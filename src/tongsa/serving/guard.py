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

Flag = Literal["loop", "length", "copy", "coverage"]

RUNS = range(1, 5)
"""Words that come again and again: one, or up to four in a row."""
TIMES = 4
"""So often one behind the other is a loop; a run of several words already when it comes once less."""
LETTERS = 3
"""A word of so many is a loop already when it comes three times, unless the source has something three times."""
RATIO = (0.25, 4.0)
"""Pieces of the output for one of the source, beyond which one of them is an outlier; short texts vary."""
SHORT = 6
"""Pieces by which a length may always differ."""
DOUBT = 0.7
"""An output with fewer pieces than this for each of the source has its attention looked at."""
UNREAD = 0.2
"""A source piece that got less attention than this in all was hardly looked at."""
UNREAD_SHARE = 0.4
"""So many of a source's pieces hardly looked at are a doubt."""

REMEDIES: Mapping[Flag, Mapping[str, Any]] = {
    "loop": {"no_repeat": 3, "repetition": 1.2},
    "length": {"no_repeat": 4, "coverage": 0.2},
    "coverage": {"coverage": 0.4, "alpha": 1.0},
}
"""Settings of the search that work against a fault. Against a copy none does: the model knows nothing better."""


class Seen(NamedTuple):
    """An output beside its source."""

    source: str
    target: str
    source_pieces: int
    pieces: int
    source_language: str = ""
    target_language: str = ""


def flags(seen: Seen) -> list[Flag]:
    """What the texts alone tell."""
    found: list[Flag] = []
    tripled = thrice(seen.target, LETTERS) and not (thrice(seen.source) or _ECHO.search(seen.source))
    if tripled or (loops(seen.target) and not loops(seen.source)):
        found.append("loop")
    if outlier(seen.source_pieces, seen.pieces):
        found.append("length")
    if copied(seen):
        found.append("copy")
    return found


def loops(text: str) -> bool:
    """Whether the same words come again and again, or the same characters where no spaces are written."""
    words = text.casefold().split()
    return _again(words) or _again(bare(words)) or bool(_LOOP.search(text))


def _again(words: Sequence[str]) -> bool:
    for length in RUNS:
        times = TIMES if length == 1 else TIMES - 1
        repeated = 0
        for at in range(length, len(words)):
            repeated = repeated + 1 if words[at] == words[at - length] else 0
            if repeated >= length * (times - 1):
                return True
    return False


def thrice(text: str, letters: int = 0) -> bool:
    """Whether a word of at least so many letters comes three times, one behind the other."""
    words = bare(text.casefold().split())
    rows = zip(words, words[1:], words[2:], strict=False)
    return any(one == two == three and sum(map(str.isalpha, one)) >= letters for one, two, three in rows)


def bare(words: Sequence[str]) -> list[str]:
    """The words without the punctuation around them; those that are nothing else are left out."""
    kept = (word.strip("".join(sign for sign in word if unicodedata.category(sign)[0] in "PS")) for word in words)
    return [word for word in kept if word]


_LOOP = re.compile(r"([^\W\d_]{2,8}?)\1{5}")
"""Two to eight letters six times, without a space."""
_ECHO = re.compile(r"([^\W\d_]{1,8}?)\1\1")
"""Three times, as 하하하 and 똑똑똑 are written."""


def outlier(source: int, target: int) -> bool:
    least, most = RATIO
    return target > most * source + SHORT or target < least * source - SHORT


def copied(seen: Seen) -> bool:
    """Whether most of the output's words are the source's, between two languages; names and numbers may be copied."""
    if seen.source_language == seen.target_language:
        return False
    source, target = _words(seen.source), _words(seen.target)
    if len(target) < 3:
        return False
    shared = (Counter(source) & Counter(target)).total()
    return shared > 0.7 * len(target)


def _words(text: str) -> list[str]:
    """Those that could have been translated: in letters, and not a name in the middle of a sentence."""
    words = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFC", text))
    return [word.casefold() for at, word in enumerate(words) if at == 0 or not word[0].isupper()]


def doubtful(seen: Seen) -> bool:
    """Whether its attention is worth a look, which costs as much as scoring it."""
    return seen.source_pieces >= SHORT and seen.pieces < DOUBT * seen.source_pieces


def unread(attention: Sequence[Sequence[float]]) -> bool:  # (target piece, source piece)
    """Whether much of the source was hardly looked at in all (the coverage of Wu et al. 2016, equation 14)."""
    sums = [math.fsum(column) for column in zip(*attention, strict=True)]
    return len(sums) >= SHORT and sum(total < UNREAD for total in sums) > UNREAD_SHARE * len(sums)


def remedy(found: Sequence[Flag], *, watched: bool) -> dict[str, Any]:
    """How to search again; nothing if no other search helps. `watched`: the model has attention over its source."""
    settings: dict[str, Any] = {}
    for flag in found:
        settings |= REMEDIES.get(flag, {})
    if not watched:
        settings.pop("coverage", None)
    return settings
