"""Lines that are not written as their side is: in another script, in two, damaged, or on the wrong side."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from tongsa.text.finding import SHOWN, Finding, graded, percent, place
from tongsa.text.ledger import Pair

LETTERS = 3
"""A line with fewer letters (a number, a name of two initials) is in no script."""
TRACE = 0.1
"""A line with less than this share of its letters in the script of its side is in another one."""
WRONG_WARNING = 0.05
HALF, RUN = 0.6, 12
"""A line with less than this share is half in another one, if that has more letters than a name has."""
LOOKALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"})
"""Scripts whose letters are taken for each other; Hangul beside Latin in a word (Python은) is how Korean is written."""
CUSTOM = 0.05
"""What so many lines do is a way of writing (phones are), not a slip of the keyboard."""
MIXED_WARNING = HALF_WARNING = DAMAGED_WARNING = STRAY_WARNING = 0.005
STRAY_FAULT = 0.1
APART, STRAY = 0.3, -0.25
"""In nats a trigram: how far sides must differ before it can be said where a line belongs; where it is elsewhere."""
EVIDENCE = 5.0
"""In nats a line, odds of 150 to 1: what is less sure is not said."""

_FAMILY = {"CJK": "HAN/KANA", "HIRAGANA": "HAN/KANA", "KATAKANA": "HAN/KANA", "KATAKANA-HIRAGANA": "HAN/KANA"}
"""Japanese writes with all of these at once."""
_NO_SCRIPT = frozenset({"MODIFIER", "MATHEMATICAL", "MICRO", "OHM", "KELVIN", "ANGSTROM", "FEMININE", "MASCULINE"})
_DAMAGED = re.compile("\ufffd|[\u00c2\u00c3][\u0080-\u00bf]")  # what no decoder could read; UTF-8 read as Latin-1


@lru_cache(maxsize=1 << 16)
def script(character: str) -> str:
    """LATIN, HANGUL, CYRILLIC, …: as Unicode's names begin; "" for what belongs to none."""
    if not character.isalpha():
        return ""
    words = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").split()
    return "" if not words or words[0] in _NO_SCRIPT else _FAMILY.get(words[0], words[0])


def scripts(text: str) -> Counter[str]:
    """How many letters of each script there are in a text."""
    counts = Counter(map(script, text))
    del counts[""]
    return counts


def wrong_script(pairs: Sequence[Pair], texts: Sequence[str], name: str) -> Finding:
    """Lines of one side, `texts`, that have next to no letter of the side's usual script."""
    letters, mains = _counted(texts)
    usual = mains.most_common(1)[0][0] if mains else ""
    wrong = [
        (pair, text)
        for pair, text, counts in zip(pairs, texts, letters, strict=True)
        if counts and counts[usual] < TRACE * counts.total()
    ]
    others = ", ".join(f"{count:,} {other}" for other, count in mains.most_common()[1:4])
    return Finding(
        name=f"script of {name}",
        level=graded(len(wrong) / max(1, len(texts)), warning=WRONG_WARNING),
        seen=f"{usual or 'no letters'}; {len(wrong):,} of {len(texts):,} lines ({percent(len(wrong), len(texts))}) "
        "are in another script" + (f" (mostly in: {others})" if wrong and others else ""),
        means="lines in another language, or columns exchanged; if several scripts are meant, nothing is wrong",
        remedy="look at these lines; correct data.columns or take the lines out",
        examples=tuple(place(pair, text) for pair, text in wrong[:SHOWN]),
        figures={"lines": len(texts), "wrong": len(wrong)},
    )


def _counted(texts: Sequence[str]) -> tuple[list[Counter[str]], Counter[str]]:
    """The letters of each line that has enough of them, and how many lines each script is the main one of."""
    letters = [counts if (counts := scripts(text)).total() >= LETTERS else Counter[str]() for text in texts]
    return letters, Counter(counts.most_common(1)[0][0] for counts in letters if counts)


def mixed_lines(pairs: Sequence[Pair], texts: Sequence[str], name: str) -> Finding:
    """Lines of one side, `texts`, that are half in another script; where many are, as in manuals, it is their way."""
    letters, mains = _counted(texts)
    usual = mains.most_common(1)[0][0] if mains else ""
    found = [
        (pair, text)
        for pair, text, counts in zip(pairs, texts, letters, strict=True)
        if TRACE * counts.total() <= counts[usual] < HALF * counts.total() and counts.total() - counts[usual] >= RUN
    ]
    share = len(found) / max(1, len(texts))
    custom = share > CUSTOM
    return Finding(
        name=f"mixed lines, {name}",
        level="ok" if custom else graded(share, warning=HALF_WARNING),
        seen=f"{len(found):,} of {len(texts):,} lines ({percent(len(found), len(texts))}) are half in another script "
        f"than {usual or 'their side'}" + ("; it seems to be their way of writing" if custom else ""),
        means="translated in part, or with the other side glued to it; a model learns to leave words as they are",
        remedy="finish or cut these lines, or take them out; names and code that stay as they are do no harm",
        examples=tuple(place(pair, text) for pair, text in found[:SHOWN]),
        figures={"lines": len(texts), "mixed": len(found)},
    )


def mixed_words(pairs: Sequence[Pair]) -> Finding:
    """Words with letters of two scripts that look alike: a Cyrillic а in a Latin word is another letter to a model."""
    found = [(pair, word) for pair in pairs if (word := _mixed(f"{pair.source} {pair.target}"))]
    share = len(found) / max(1, len(pairs))
    custom = share > CUSTOM
    return Finding(
        name="mixed words",
        level="ok" if custom else graded(share, warning=MIXED_WARNING),
        seen=f"{len(found):,} of {len(pairs):,} lines ({percent(len(found), len(pairs))}) have a word with letters of "
        "two scripts that look alike" + ("; it seems to be their way of writing" if custom else ""),
        means="typed or scanned wrongly: the word looks right and is another one to a model",
        remedy="replace the strange letters",
        examples=tuple(place(pair, f"{word} ({', '.join(sorted(scripts(word)))})") for pair, word in found[:SHOWN]),
        figures={"lines": len(pairs), "mixed": len(found)},
    )


def _mixed(text: str) -> str:
    if text.isascii():
        return ""
    return next((word for word in text.split() if len(LOOKALIKE & scripts(word).keys()) > 1), "")


def damaged(pairs: Sequence[Pair]) -> Finding:
    """Lines that went through a wrong decoder."""
    found = [pair for pair in pairs if _DAMAGED.search(pair.source) or _DAMAGED.search(pair.target)]
    return Finding(
        name="damaged letters",
        level=graded(len(found) / max(1, len(pairs)), warning=DAMAGED_WARNING),
        seen=f"{len(found):,} of {len(pairs):,} lines ({percent(len(found), len(pairs))}) hold � or UTF-8 "
        "read as Latin-1",
        means="the file was once read with a wrong encoding; these letters are lost or doubled",
        remedy="make the file again from its source; Ã¤ for ä can be repaired: iconv -f UTF-8 -t LATIN1",
        examples=tuple(place(pair) for pair in found[:SHOWN]),
        figures={"lines": len(pairs), "damaged": len(found)},
    )


class Profile(NamedTuple):
    """How often each trigram of characters occurs (Cavnar and Trenkle 1994)."""

    counts: Counter[str]
    total: int

    def chance(self, trigram: str) -> float:
        return math.log((self.counts[trigram] + 0.5) / (self.total + 0.5))


def profile(texts: Sequence[str]) -> Profile:
    counts = Counter(trigram for text in texts for trigram in _trigrams(text))
    return Profile(counts, counts.total())


def _trigrams(text: str) -> Iterator[str]:
    padded = f" {text.casefold()} "
    return (padded[at : at + 3] for at in range(len(padded) - 2))


def belonging(text: str, own: Profile, other: Profile) -> float:
    """How much more like one side than like the other, in nats a trigram; 0 where the line is too short to be sure."""
    gains = [own.chance(trigram) - other.chance(trigram) for trigram in _trigrams(text)]
    return sum(gains) / len(gains) if abs(sum(gains)) >= EVIDENCE else 0.0


def likeness(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """How much the source of each pair is like sources and its target like targets, by the other half of the pairs."""
    found = [(0.0, 0.0)] * len(pairs)
    for asked, taught in ((0, 1), (1, 0)):
        sources = profile([pair.source for pair in pairs[taught::2]])
        targets = profile([pair.target for pair in pairs[taught::2]])
        found[asked::2] = [
            (belonging(pair.source, sources, targets), belonging(pair.target, targets, sources))
            for pair in pairs[asked::2]
        ]
    return found


def strays(pairs: Sequence[Pair]) -> Finding:
    """Lines that look like the other side: exchanged with their partner, or never translated."""
    found = list(zip(pairs, likeness(pairs), strict=True))
    apart = median([abs(score) for _, scores in found for score in scores] or [0.0])
    if apart < APART:
        return Finding(
            name="lines on the wrong side",
            level="ok",
            seen="the two sides are too alike to tell on which of them a line belongs",
            figures={"lines": len(pairs), "apart": apart},
        )
    swapped = [pair for pair, scores in found if max(scores) < STRAY]
    alone = [pair for pair, scores in found if min(scores) < STRAY <= max(scores)]
    strange = len(swapped) + len(alone)
    return Finding(
        name="lines on the wrong side",
        level=graded(strange / max(1, len(pairs)), warning=STRAY_WARNING, fault=STRAY_FAULT),
        seen=f"of {len(pairs):,} pairs, {len(swapped):,} look exchanged and {len(alone):,} have both sides in one "
        "language",
        means="a model learns to translate backwards, or not at all, from such lines",
        remedy="exchange the sides of the first, and take the others out",
        examples=tuple(place(pair) for pair in (*swapped, *alone)[:SHOWN]),
        figures={"lines": len(pairs), "swapped": len(swapped), "one_language": len(alone), "apart": apart},
    )
