"""Term replacement: training sources in which some words are replaced by their translation.

A model that is trained on such sources copies the words of the target language (Dinu et al. 2019, section 3,
"train-by-replace"; Song et al. 2019, section 3). A glossary then needs no search: its source terms are replaced before
the encoder. The terms come from a glossary, or from the training pairs: words that are each other's likely translation
(IBM model 1).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from tongsa.data.ledger import Pair
from tongsa.decoding.glossary import HANGUL, Glossary, find_phrase
from tongsa.tokenization.lexicon import NULL_WORD, Lexicon, TokenSet, train_lexicon

MIN_TRANSLATION_PROB = 0.2
"""Two words are translations of each other if IBM model 1 gives at least this probability in both directions."""
MIN_SOURCE_CHARACTERS, MIN_TARGET_CHARACTERS = 4, 3
"""Shorter words are mostly function words; in Hangul two syllables are enough."""
MAX_LEXICON_PAIRS = 20_000
"""Pairs used for the lexicon, evenly spaced over the corpus."""
MAX_WORDS_PER_SIDE = 60
TRUNCATED_WORD_RATIO = 0.7
"""A word is truncated if a longer form has at least this share of its probability."""
REPLACED_TERM_SHARE = 0.3
"""Share of the terms of a chosen source that are replaced; one at least."""

_WORD = re.compile(r"(?<![^\s\"'(\[])[^\W\d_]+(?=[,;:.!?\"')\]]*(?:\s|$))")
"""A word of letters between spaces; not a part of an identifier or of an address."""
_HANGUL_WORD = re.compile(f"[{HANGUL}]{{2,}}")


class Replacement(NamedTuple):
    """A part of a source text, and the words of the target text that translate it."""

    start: int
    end: int
    target: str


class TermReplacer:
    """Sources of training pairs with replaced terms: a pure function of pair and seed."""

    def __init__(self, pairs: Sequence[Pair], share: float, glossary: Glossary | None = None) -> None:
        """`share` of the sources that contain a term are changed."""
        self.share = share
        self.replacements = (
            [glossary_replacements(pair, glossary) for pair in pairs] if glossary else word_replacements(pairs)
        )

    def replace_terms(self, row: int, source: str, seed: int) -> str:
        """Return the source of a pair, perhaps with replaced terms."""
        replacements, generator = self.replacements[row], Random(seed)
        if not replacements or generator.random() >= self.share:
            return source
        return apply_replacements(source, self._draw(replacements, generator))

    def _draw(self, replacements: Sequence[Replacement], generator: Random) -> list[Replacement]:
        certain = generator.randrange(len(replacements))
        return [
            replacement
            for i, replacement in enumerate(replacements)
            if generator.random() < REPLACED_TERM_SHARE or i == certain
        ]


def apply_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    """Return the text with its terms replaced; they are in order and do not overlap."""
    parts, end = list[str](), 0
    for replacement in replacements:
        parts += [text[end : replacement.start], replacement.target]
        end = replacement.end
    return "".join([*parts, text[end:]])


def glossary_replacements(pair: Pair, glossary: Glossary) -> list[Replacement]:
    """Return the terms of a glossary that occur in the source and whose translation occurs in the target."""
    return [
        Replacement(*span, occurrences.text)
        for occurrences in glossary.requirements(pair.source)
        if not occurrences.term.copied and find_phrase(pair.target, occurrences.text)
        for span in occurrences.spans
    ]


def word_replacements(pairs: Sequence[Pair]) -> list[list[Replacement]]:
    """Return for each pair the source words whose translation in the target is clear."""
    step = -(-len(pairs) // MAX_LEXICON_PAIRS) or 1
    sample = [pair for pair in pairs[::step] if _source_words(pair) and _target_words(pair)]
    if not sample:
        return [[] for _ in pairs]
    source_ids, target_ids = _number_words(map(_source_words, sample)), _number_words(map(_target_words, sample))
    sources = [_to_ids(_source_words(pair), source_ids) for pair in sample]
    targets = [_to_ids(_target_words(pair), target_ids) for pair in sample]
    vocab_size = max(len(source_ids), len(target_ids)) + 1
    forward = _likely_translations(train_lexicon([*map(_with_null, sources)], targets, vocab_size))
    backward = _likely_translations(train_lexicon([*map(_with_null, targets)], sources, vocab_size))
    mutual = {(source, target): prob for (source, target), prob in forward.items() if (target, source) in backward}
    source_words, target_words = list(source_ids), list(target_ids)  # ids count from 1
    translations: dict[str, dict[str, float]] = {}
    for (source, target), prob in mutual.items():
        translations.setdefault(source_words[source - 1], {})[target_words[target - 1]] = prob
    translations = {source: _drop_truncated_words(targets) for source, targets in translations.items()}
    spelling = _usual_spelling(pairs)
    return [_find_replacements(pair, translations, spelling) for pair in pairs]


def _drop_truncated_words(targets: dict[str, float]) -> dict[str, float]:
    """Drop a prefix if a longer one is nearly as likely: 시퀀 beside 시퀀스, but not 함수 beside 함수를."""
    return {
        word: prob
        for word, prob in targets.items()
        if not any(
            other.startswith(word) and len(other) > len(word) and other_prob >= TRUNCATED_WORD_RATIO * prob
            for other, other_prob in targets.items()
        )
    }


def _find_replacements(
    pair: Pair, translations: dict[str, dict[str, float]], spelling: dict[str, str]
) -> list[Replacement]:
    """Return the words of a source with a translation in the target; likely translations first take a target word."""
    unused = Counter(_target_words(pair))
    candidates = sorted(
        (-prob, match.start(), match.end(), word)
        for match in _WORD.finditer(pair.source)
        for word, prob in translations.get(match[0].lower(), {}).items()
        if word in unused
    )
    replaced: dict[int, Replacement] = {}
    for _, start, end, word in candidates:
        if unused[word] > 0 and start not in replaced:
            unused[word] -= 1
            replaced[start] = Replacement(start, end, spelling.get(word, word))
    return [replaced[start] for start in sorted(replaced)]


def _source_words(pair: Pair) -> list[str]:
    return _long_words(pair.source, MIN_SOURCE_CHARACTERS)


def _target_words(pair: Pair) -> list[str]:
    """Return words and, since a Korean word may end in particles, the prefixes of words in Hangul."""
    words = _long_words(pair.target, MIN_TARGET_CHARACTERS)
    prefixes = [word[:end] for word in words if _HANGUL_WORD.fullmatch(word) for end in range(2, min(len(word), 5))]
    return words + prefixes


def _long_words(text: str, min_characters: int) -> list[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    return [word for word in words if len(word) >= min_characters or _HANGUL_WORD.fullmatch(word)][:MAX_WORDS_PER_SIDE]


def _usual_spelling(pairs: Sequence[Pair]) -> dict[str, str]:
    """Return the usual case of each target word; the first word of a text does not count."""
    counts: dict[str, Counter[str]] = {}
    for pair in pairs:
        for word in _WORD.findall(pair.target)[1:]:
            counts.setdefault(word.lower(), Counter())[word] += 1
    return {word: spellings.most_common(1)[0][0] for word, spellings in counts.items()}


def _number_words(texts: Iterable[list[str]]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for words in texts:
        for word in words:
            ids.setdefault(word, len(ids) + 1)  # 0 is the null word
    return ids


def _to_ids(words: Sequence[str], ids: dict[str, int]) -> TokenSet:
    return np.unique(np.array([ids[word] for word in words], dtype=np.int64))


def _with_null(words: TokenSet) -> TokenSet:
    return np.append(words, NULL_WORD)


def _likely_translations(lexicon: Lexicon) -> dict[tuple[int, int], float]:
    source, target = np.divmod(lexicon.pair_ids, lexicon.vocab_size)
    likely = (lexicon.probs >= MIN_TRANSLATION_PROB) & (source != NULL_WORD)
    keys = zip(source[likely].tolist(), target[likely].tolist(), strict=True)
    return dict(zip(keys, lexicon.probs[likely].tolist(), strict=True))
