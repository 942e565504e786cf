"""Checks of scripts and languages: wrong or mixed scripts, texts on the wrong side."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from tongsa.checks.finding import MAX_EXAMPLES, Finding, format_pair, level_for_share, percent
from tongsa.data.ledger import Pair
from tongsa.data.unicode_scripts import script_counts

MIN_LETTERS = 3
"""A line with fewer letters (a number, initials) has no script."""
MIN_SCRIPT_SHARE = 0.1
"""A line with a smaller share of letters in the main script of its side is in another script."""
WRONG_SCRIPT_WARNING = 0.05
NO_LETTERS_WARNING = 0.5
"""A side with a larger share of lines without letters is probably a column of numbers."""
MIXED_LINE_MAX_SHARE, MIXED_LINE_MIN_LETTERS = 0.6, 12
"""A line with a smaller share is mixed, if it has at least this many letters (more than a name) of other scripts."""
CONFUSABLE_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"})
"""Scripts with letters that look alike. Latin and Hangul in one word (Python은) is normal Korean."""
CONVENTION_SHARE = 0.05
"""If a larger share of lines mixes scripts, it is a convention (phonetic symbols), not a typing error."""
MIXED_WORDS_WARNING = MIXED_LINES_WARNING = WRONG_SIDE_WARNING = 0.005
WRONG_SIDE_FAULT = 0.1
MIN_SEPARATION_NATS, WRONG_SIDE_NATS = 0.3, -0.25
"""Nats per trigram: the minimum difference of the two sides, and the score of a line on the wrong side."""
MIN_PAIRS = 100
"""With fewer pairs the trigram counts are unreliable."""
EXCHANGED_SHARE = 0.5
"""A held-out set with a larger share of exchanged pairs has its columns or files in the other order."""
MIN_EVIDENCE_NATS = 5.0
"""Nats per line (odds of 150 to 1): weaker evidence is ignored."""


def check_script(pairs: Sequence[Pair], texts: Sequence[str], name: str) -> Finding:
    """Find lines of one side (`texts`) with nearly no letter of the main script of that side."""
    letters, line_counts = _count_letters(texts)
    main_script = line_counts.most_common(1)[0][0] if line_counts else ""
    wrong = [
        (pair, text)
        for pair, text, counts in zip(pairs, texts, letters, strict=True)
        if counts and counts[main_script] < MIN_SCRIPT_SHARE * counts.total()
    ]
    without_letters = [(pair, text) for pair, text in zip(pairs, texts, strict=True) if not script_counts(text)]
    if len(without_letters) > NO_LETTERS_WARNING * len(texts):
        return _no_letters_finding(without_letters, len(texts), name)
    others = ", ".join(f"{count:,} {other}" for other, count in line_counts.most_common()[1:4])
    return Finding(
        name=f"script of {name}",
        level=level_for_share(len(wrong) / max(1, len(texts)), warning=WRONG_SCRIPT_WARNING),
        seen=f"{main_script or 'no letters'}; {len(wrong):,} of {len(texts):,} lines "
        f"({percent(len(wrong), len(texts))}) are in another script"
        + (f" (mostly in: {others})" if wrong and others else ""),
        means="lines in another language, or exchanged columns; no problem if several scripts are intended",
        remedy="inspect these lines; correct data.columns or remove the lines",
        examples=tuple(format_pair(pair, text) for pair, text in wrong[:MAX_EXAMPLES]),
        numbers={"lines": len(texts), "wrong": len(wrong)},
    )


def _no_letters_finding(lines: Sequence[tuple[Pair, str]], total: int, name: str) -> Finding:
    return Finding(
        name=f"script of {name}",
        level="warning",
        seen=f"{len(lines):,} of {total:,} lines ({percent(len(lines), total)}) have no letters",
        means="the column is probably a line number or a score, not the text",
        remedy="choose the columns of source and target, for example --set data.columns=[2,3]",
        examples=tuple(format_pair(pair, text) for pair, text in lines[:MAX_EXAMPLES]),
        numbers={"lines": total, "wrong": len(lines)},
    )


def _count_letters(texts: Sequence[str]) -> tuple[list[Counter[str]], Counter[str]]:
    """Return the letters by script of each line with enough letters, and the number of lines by main script."""
    letters = [counts if (counts := script_counts(text)).total() >= MIN_LETTERS else Counter[str]() for text in texts]
    return letters, Counter(counts.most_common(1)[0][0] for counts in letters if counts)


def check_mixed_lines(pairs: Sequence[Pair], texts: Sequence[str], name: str) -> Finding:
    """Find lines of one side (`texts`) that are half in another script. Many such lines, as in manuals, are normal."""
    letters, line_counts = _count_letters(texts)
    main_script = line_counts.most_common(1)[0][0] if line_counts else ""
    mixed = [
        (pair, text)
        for pair, text, counts in zip(pairs, texts, letters, strict=True)
        if MIN_SCRIPT_SHARE * counts.total() <= counts[main_script] < MIXED_LINE_MAX_SHARE * counts.total()
        and counts.total() - counts[main_script] >= MIXED_LINE_MIN_LETTERS
    ]
    share = len(mixed) / max(1, len(texts))
    is_convention = share > CONVENTION_SHARE
    return Finding(
        name=f"mixed lines, {name}",
        level="ok" if is_convention else level_for_share(share, warning=MIXED_LINES_WARNING),
        seen=f"{len(mixed):,} of {len(texts):,} lines ({percent(len(mixed), len(texts))}) are half in another script "
        f"than {main_script or 'their side'}" + ("; probably a convention of this corpus" if is_convention else ""),
        means="partly translated, or joined with the other side; the model learns to leave words untranslated",
        remedy="correct or remove these lines; names and code are no problem",
        examples=tuple(format_pair(pair, text) for pair, text in mixed[:MAX_EXAMPLES]),
        numbers={"lines": len(texts), "mixed": len(mixed)},
    )


def check_mixed_words(pairs: Sequence[Pair]) -> Finding:
    """Find words with letters of two scripts that look alike, such as a Cyrillic а in a Latin word."""
    mixed = [(pair, word) for pair in pairs if (word := _first_mixed_word(f"{pair.source} {pair.target}"))]
    share = len(mixed) / max(1, len(pairs))
    is_convention = share > CONVENTION_SHARE
    return Finding(
        name="mixed words",
        level="ok" if is_convention else level_for_share(share, warning=MIXED_WORDS_WARNING),
        seen=f"{len(mixed):,} of {len(pairs):,} lines ({percent(len(mixed), len(pairs))}) have a word with letters of "
        "two scripts that look alike" + ("; probably a convention of this corpus" if is_convention else ""),
        means="typing or OCR errors: the word looks right, but for the model it is a different word",
        remedy="replace the letters of the wrong script",
        examples=tuple(
            format_pair(pair, f"{word} ({', '.join(sorted(script_counts(word)))})")
            for pair, word in mixed[:MAX_EXAMPLES]
        ),
        numbers={"lines": len(pairs), "mixed": len(mixed)},
    )


def _first_mixed_word(text: str) -> str:
    if text.isascii():
        return ""
    return next((word for word in text.split() if len(CONFUSABLE_SCRIPTS & script_counts(word).keys()) > 1), "")


class TrigramProfile(NamedTuple):
    """Character trigram counts (Cavnar and Trenkle 1994)."""

    counts: Counter[str]
    total: int

    def log_prob(self, trigram: str) -> float:
        return math.log((self.counts[trigram] + 0.5) / (self.total + 0.5))


def trigram_profile(texts: Sequence[str]) -> TrigramProfile:
    counts = Counter(trigram for text in texts for trigram in _trigrams(text))
    return TrigramProfile(counts, counts.total())


def _trigrams(text: str) -> Iterator[str]:
    padded = f" {text.casefold()} "
    return (padded[i : i + 3] for i in range(len(padded) - 2))


def side_score(text: str, this_side: TrigramProfile, other_side: TrigramProfile) -> float:
    """Return how much more a text resembles its side than the other, in nats per trigram; 0 without enough evidence."""
    gains = [this_side.log_prob(trigram) - other_side.log_prob(trigram) for trigram in _trigrams(text)]
    return sum(gains) / len(gains) if abs(sum(gains)) >= MIN_EVIDENCE_NATS else 0.0


def side_scores(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """Return the side scores of source and target of each pair, with profiles from the other half of the pairs."""
    scores = [(0.0, 0.0)] * len(pairs)
    for test, train in ((0, 1), (1, 0)):
        sources = trigram_profile([pair.source for pair in pairs[train::2]])
        targets = trigram_profile([pair.target for pair in pairs[train::2]])
        scores[test::2] = [
            (side_score(pair.source, sources, targets), side_score(pair.target, targets, sources))
            for pair in pairs[test::2]
        ]
    return scores


def check_wrong_side(pairs: Sequence[Pair], languages: tuple[str, str] = ("", "")) -> Finding:
    """Find texts that look like the other side: exchanged with their partner, or not translated.

    Two sides in one language, as in a dialogue, differ in style alone, which is no evidence.
    """
    if languages[0] and languages[0] == languages[1]:
        return Finding(name="wrong side", level="ok", seen=f"both sides are in one language ({languages[0]})")
    if len(pairs) < MIN_PAIRS:
        return Finding(name="wrong side", level="ok", seen=f"{len(pairs):,} pairs are too few to check")
    scored = list(zip(pairs, side_scores(pairs), strict=True))
    separation = median([abs(score) for _, scores in scored for score in scores] or [0.0])
    if separation < MIN_SEPARATION_NATS:
        return Finding(
            name="wrong side",
            level="ok",
            seen="the two sides are too similar to tell them apart",
            numbers={"lines": len(pairs), "separation": separation},
        )
    swapped = [pair for pair, scores in scored if max(scores) < WRONG_SIDE_NATS]
    one_language = [pair for pair, scores in scored if min(scores) < WRONG_SIDE_NATS <= max(scores)]
    wrong = len(swapped) + len(one_language)
    return Finding(
        name="wrong side",
        level=level_for_share(wrong / max(1, len(pairs)), warning=WRONG_SIDE_WARNING, fault=WRONG_SIDE_FAULT),
        seen=f"of {len(pairs):,} pairs, {len(swapped):,} look exchanged and {len(one_language):,} have both sides in "
        "one language",
        means="the model learns the wrong direction, or to copy",
        remedy="swap the sides of the exchanged pairs, and remove the pairs in one language",
        examples=tuple(format_pair(pair) for pair in (*swapped, *one_language)[:MAX_EXAMPLES]),
        numbers={
            "lines": len(pairs),
            "swapped": len(swapped),
            "one_language": len(one_language),
            "separation": separation,
        },
    )


def check_direction(train: Sequence[Pair], held_out: Sequence[Pair], name: str) -> Finding:
    """Compare the sides of a held-out set with those of train: its columns or files may be in the other order."""
    sources = trigram_profile([pair.source for pair in train])
    targets = trigram_profile([pair.target for pair in train])
    exchanged = [
        pair
        for pair in held_out
        if max(side_score(pair.source, sources, targets), side_score(pair.target, targets, sources)) < WRONG_SIDE_NATS
    ]
    return Finding(
        name=f"direction of {name}",
        level="fault" if len(exchanged) > EXCHANGED_SHARE * len(held_out) else "ok",
        seen=f"{len(exchanged):,} of {len(held_out):,} pairs of {name} look exchanged, compared with train",
        means=f"the model is scored on {name} in the other direction",
        remedy=f"give the files of {name} in the order of train, or exchange its columns",
        examples=tuple(format_pair(pair) for pair in exchanged[:MAX_EXAMPLES]),
        numbers={"lines": len(held_out), "exchanged": len(exchanged)},
    )
