"""An English–Korean phrasebook: a synchronous grammar of everyday sentences.

English does not mark the Korean speech level, so the source does (Sennrich, Haddow and Birch 2016): a
sentence that begins with "<polite> " is translated in 해요체, any other in the plain style. The same English
never has two translations, so that a model can be scored by exact match.

    sample(random.Random(7))    one phrase, with its pattern and words
    splits().train              20,000 pairs; dev, test and test_long beside
"""

from tongsa.phrasebook.grammar import GRAMMAR, Phrase, sample, size, vocabulary
from tongsa.phrasebook.partition import Splits, combination, held_out, splits, write

PATTERNS: tuple[str, ...] = tuple(pattern.name for pattern in GRAMMAR)

__all__ = [
    "PATTERNS",
    "Phrase",
    "Splits",
    "combination",
    "held_out",
    "sample",
    "size",
    "splits",
    "vocabulary",
    "write",
]
