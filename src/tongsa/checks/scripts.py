"""Lines that are not written as their side is: in another script, in two, damaged, or on the wrong side."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from tongsa.checks.finding import MAX_EXAMPLES, Finding, format_pair, level_for_share, percent
from tongsa.data.ledger import Pair
from tongsa.data.unicode_scripts import script_counts

MIN_LETTERS = 3
"""A line with fewer letters (a number, a name of two initials) is in no script."""
MIN_SCRIPT_SHARE = 0.1
"""A line with less than this share of its letters in the script of its side is in another one."""
WRONG_SCRIPT_WARNING = 0.05
MIXED_LINE_MAX_SHARE, MIXED_LINE_MIN_LETTERS = 0.6, 12
"""A line with less than this share is half in another one, if that has more letters than a name has."""
CONFUSABLE_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"})
"""Scripts whose letters are taken for each other; Hangul beside Latin in a word (Python은) is how Korean is written."""
CONVENTION_SHARE = 0.05
"""What so many lines do is a way of writing (phones are), not a slip of the keyboard."""
MIXED_WORDS_WARNING = MIXED_LINES_WARNING = MOJIBAKE_WARNING = WRONG_SIDE_WARNING = 0.005
WRONG_SIDE_FAULT = 0.1
MIN_SEPARATION_NATS, WRONG_SIDE_NATS = 0.3, -0.25
"""In nats a trigram: how far sides must differ before it can be said where a line belongs; where it is elsewhere."""
MIN_EVIDENCE_NATS = 5.0
"""In nats a line, odds of 150 to 1: what is less sure is not said."""

_MOJIBAKE = re.compile("\ufffd|[\u00c2\u00c3][\u0080-\u00bf]")  # what no decoder could read; UTF-8 read as Latin-1


def check_script(pairs: Sequence[Pair], texts: Sequence[str], name: str) -> Finding:
    """Lines of one side, `texts`, that have next to no letter of the side's usual script."""
    letters, mains = _count_letters(texts)
    usual = mains.most_common(1)[0][0] if mains else ""
    wrong = [
        (pair, text)
        for pair, text, counts in zip(pairs, texts, letters, strict=True)
        if counts and counts[usual] < MIN_SCRIPT_SHARE * counts.total()
    ]
    others = ", ".join(f"{count:,} {other}" for other, count in mains.most_common()[1:4])
    return Finding(
        name=f"script of {name}",
        level=level_for_share(len(wrong) / max(1, len(texts)), warning=WRONG_SCRIPT_WARNING),
        seen=f"{usual or 'no letters'}; {len(wrong):,} of {len(texts):,} lines ({percent(len(wrong), len(texts))}) "
        "are in another script" + (f" (mostly in: {others})" if wrong and others else ""),
        means="lines in another language, or columns exchanged; if several scripts are meant, nothing is wrong",
        remedy="look at these lines; correct data.columns or take the lines out",
        examples=tuple(format_pair(pair, text) for pair, text in wrong[:MAX_EXAMPLES]),
        numbers={"lines": len(texts), "wrong": len(wrong)},
    )


def _count_letters(texts: Sequence[str]) -> tuple[list[Counter[str]], Counter[str]]:
    """The letters of each line that has enough of them, and how many lines each script is the main one of."""
    letters = [counts if (counts := script_counts(text)).total() >= MIN_LETTERS else Counter[str]() for text in texts]
    return letters, Counter(counts.most_common(1)[0][0] for counts in letters if counts)


def check_mixed_lines(pairs: Sequence[Pair], texts: Sequence[str], name: str) -> Finding:
    """Lines of one side, `texts`, that are half in another script; where many are, as in manuals, it is their way."""
    letters, mains = _count_letters(texts)
    usual = mains.most_common(1)[0][0] if mains else ""
    found = [
        (pair, text)
        for pair, text, counts in zip(pairs, texts, letters, strict=True)
        if MIN_SCRIPT_SHARE * counts.total() <= counts[usual] < MIXED_LINE_MAX_SHARE * counts.total()
        and counts.total() - counts[usual] >= MIXED_LINE_MIN_LETTERS
    ]
    share = len(found) / max(1, len(texts))
    custom = share > CONVENTION_SHARE
    return Finding(
        name=f"mixed lines, {name}",
        level="ok" if custom else level_for_share(share, warning=MIXED_LINES_WARNING),
        seen=f"{len(found):,} of {len(texts):,} lines ({percent(len(found), len(texts))}) are half in another script "
        f"than {usual or 'their side'}" + ("; it seems to be their way of writing" if custom else ""),
        means="translated in part, or with the other side glued to it; a model learns to leave words as they are",
        remedy="finish or cut these lines, or take them out; names and code that stay as they are do no harm",
        examples=tuple(format_pair(pair, text) for pair, text in found[:MAX_EXAMPLES]),
        numbers={"lines": len(texts), "mixed": len(found)},
    )


def check_mixed_words(pairs: Sequence[Pair]) -> Finding:
    """Words with letters of two scripts that look alike: a Cyrillic а in a Latin word is another letter to a model."""
    found = [(pair, word) for pair in pairs if (word := _first_mixed_word(f"{pair.source} {pair.target}"))]
    share = len(found) / max(1, len(pairs))
    custom = share > CONVENTION_SHARE
    return Finding(
        name="mixed words",
        level="ok" if custom else level_for_share(share, warning=MIXED_WORDS_WARNING),
        seen=f"{len(found):,} of {len(pairs):,} lines ({percent(len(found), len(pairs))}) have a word with letters of "
        "two scripts that look alike" + ("; it seems to be their way of writing" if custom else ""),
        means="typed or scanned wrongly: the word looks right and is another one to a model",
        remedy="replace the strange letters",
        examples=tuple(
            format_pair(pair, f"{word} ({', '.join(sorted(script_counts(word)))})")
            for pair, word in found[:MAX_EXAMPLES]
        ),
        numbers={"lines": len(pairs), "mixed": len(found)},
    )


def _first_mixed_word(text: str) -> str:
    if text.isascii():
        return ""
    return next((word for word in text.split() if len(CONFUSABLE_SCRIPTS & script_counts(word).keys()) > 1), "")


def check_mojibake(pairs: Sequence[Pair]) -> Finding:
    """Lines that went through a wrong decoder."""
    found = [pair for pair in pairs if _MOJIBAKE.search(pair.source) or _MOJIBAKE.search(pair.target)]
    return Finding(
        name="damaged letters",
        level=level_for_share(len(found) / max(1, len(pairs)), warning=MOJIBAKE_WARNING),
        seen=f"{len(found):,} of {len(pairs):,} lines ({percent(len(found), len(pairs))}) hold � or UTF-8 "
        "read as Latin-1",
        means="the file was once read with a wrong encoding; these letters are lost or doubled",
        remedy="make the file again from its source; Ã¤ for ä can be repaired: iconv -f UTF-8 -t LATIN1",
        examples=tuple(format_pair(pair) for pair in found[:MAX_EXAMPLES]),
        numbers={"lines": len(pairs), "damaged": len(found)},
    )


class TrigramProfile(NamedTuple):
    """How often each trigram of characters occurs (Cavnar and Trenkle 1994)."""

    counts: Counter[str]
    total: int

    def log_prob(self, trigram: str) -> float:
        return math.log((self.counts[trigram] + 0.5) / (self.total + 0.5))


def trigram_profile(texts: Sequence[str]) -> TrigramProfile:
    counts = Counter(trigram for text in texts for trigram in _trigrams(text))
    return TrigramProfile(counts, counts.total())


def _trigrams(text: str) -> Iterator[str]:
    padded = f" {text.casefold()} "
    return (padded[at : at + 3] for at in range(len(padded) - 2))


def side_score(text: str, this_side: TrigramProfile, other_side: TrigramProfile) -> float:
    """How much more like one side than like the other, in nats a trigram; 0 where the line is too short to be sure."""
    gains = [this_side.log_prob(trigram) - other_side.log_prob(trigram) for trigram in _trigrams(text)]
    return sum(gains) / len(gains) if abs(sum(gains)) >= MIN_EVIDENCE_NATS else 0.0


def side_scores(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """How much the source of each pair is like sources and its target like targets, by the other half of the pairs."""
    found = [(0.0, 0.0)] * len(pairs)
    for asked, taught in ((0, 1), (1, 0)):
        sources = trigram_profile([pair.source for pair in pairs[taught::2]])
        targets = trigram_profile([pair.target for pair in pairs[taught::2]])
        found[asked::2] = [
            (side_score(pair.source, sources, targets), side_score(pair.target, targets, sources))
            for pair in pairs[asked::2]
        ]
    return found


def check_wrong_side(pairs: Sequence[Pair]) -> Finding:
    """Lines that look like the other side: exchanged with their partner, or never translated."""
    found = list(zip(pairs, side_scores(pairs), strict=True))
    apart = median([abs(score) for _, scores in found for score in scores] or [0.0])
    if apart < MIN_SEPARATION_NATS:
        return Finding(
            name="lines on the wrong side",
            level="ok",
            seen="the two sides are too alike to tell on which of them a line belongs",
            numbers={"lines": len(pairs), "apart": apart},
        )
    swapped = [pair for pair, scores in found if max(scores) < WRONG_SIDE_NATS]
    alone = [pair for pair, scores in found if min(scores) < WRONG_SIDE_NATS <= max(scores)]
    strange = len(swapped) + len(alone)
    return Finding(
        name="lines on the wrong side",
        level=level_for_share(strange / max(1, len(pairs)), warning=WRONG_SIDE_WARNING, fault=WRONG_SIDE_FAULT),
        seen=f"of {len(pairs):,} pairs, {len(swapped):,} look exchanged and {len(alone):,} have both sides in one "
        "language",
        means="a model learns to translate backwards, or not at all, from such lines",
        remedy="exchange the sides of the first, and take the others out",
        examples=tuple(format_pair(pair) for pair in (*swapped, *alone)[:MAX_EXAMPLES]),
        numbers={"lines": len(pairs), "swapped": len(swapped), "one_language": len(alone), "apart": apart},
    )
