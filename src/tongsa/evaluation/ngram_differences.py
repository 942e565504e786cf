"""N-grams of words that the outputs of only one of two systems contain, as in compare-mt (Neubig et al. 2019)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tongsa.data.unicode_scripts import UNSPACED_SCRIPTS, character_script

MAX_ORDER = 4
MIN_COUNT = 2
"""An n-gram that occurs once may be an accident."""
PART_SHARE = 0.9
"""An n-gram is dropped if this share of its occurrences is inside a longer one."""
MAX_NGRAMS, MAX_CANDIDATES = 12, 300
"""N-grams of a list, and the most frequent ones among which they are chosen."""


class NgramDifference(NamedTuple):
    """An n-gram with its number of occurrences in the outputs of both systems and in the references."""

    text: str
    a: int
    b: int
    references: int


def ngram_differences(
    a: Counter[str], b: Counter[str], references: Counter[str]
) -> tuple[list[NgramDifference], list[NgramDifference]]:
    """Return the most frequent n-grams that only the first system writes, and those of the second."""

    def only(counts: Counter[str], others: Counter[str]) -> list[NgramDifference]:
        candidates = [text for text, count in counts.items() if count >= MIN_COUNT and text not in others]
        candidates.sort(key=lambda text: (-counts[text], -len(text), text))
        chosen = drop_parts({text: counts[text] for text in candidates[:MAX_CANDIDATES]})[:MAX_NGRAMS]
        return [NgramDifference(text, a[text], b[text], references[text]) for text in chosen]

    return only(a, b), only(b, a)


def count_ngrams(texts: Iterable[str], *, spaced: bool = True) -> Counter[str]:
    """Count the n-grams of 1 to MAX_ORDER words, or characters of a script without spaces between words."""
    counts: Counter[str] = Counter()
    separator = " " if spaced else ""
    for text in texts:
        words = text.split() if spaced else [character for character in text if not character.isspace()]
        for order in range(1, MAX_ORDER + 1):
            counts.update(separator.join(words[i : i + order]) for i in range(len(words) - order + 1))
    return counts


def drop_parts(counts: dict[str, int]) -> list[str]:
    """Return the n-grams in their order, without those that occur nearly only as a part of a longer one."""

    def is_part(text: str, longer: str) -> bool:
        return text in longer and text != longer and counts[longer] >= PART_SHARE * counts[text]

    return [text for text in counts if not any(is_part(text, longer) for longer in counts)]


def lacks_spaces(texts: Sequence[str]) -> bool:
    """Return whether the texts are mostly in a script without spaces between words, such as Chinese."""
    letters = [character_script(character) for text in texts for character in text]
    unspaced = sum(script in UNSPACED_SCRIPTS for script in letters)
    return unspaced > sum(bool(script) for script in letters) / 2
