"""English–Korean phrasebook: a synchronous grammar of everyday sentences, from which the demo's pairs are drawn.

English does not mark the Korean speech level, so the source does (Sennrich, Haddow and Birch 2016): a sentence that
begins with "<polite> " is translated in 해요체, one that begins with "<casual> " in 해체, any other in the plain style.
The same English never has two translations, so that a model can be scored by exact match.

    sample(random.Random(7))    a phrase, with its pattern and words
    split_pairs().train         20,000 pairs; dev, test and test_long beside
    python -m phrasebook        writes the pairs that tongsa ships (run in tools/)
"""

from phrasebook.grammar import PATTERNS, Phrase, sample, size, vocabulary

__all__ = ["PATTERNS", "Phrase", "sample", "size", "vocabulary"]
