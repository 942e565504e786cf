"""Noise in texts: dropped, exchanged and masked words, case, spacing, typing errors. A pure function of text and seed.

Training on noised sources makes a model robust (Belinkov and Bisk 2018; Karpukhin et al. 2019); a noised copy of a test
set shows how robust it is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from tongsa.data.keyboards import jamo_slips, key_slips

MASK = "<mask>"
"""Replaces masked words; a tokenizer of a run with masks has it as one token."""
_TAGS = re.compile(r"(?:<[\w-]{1,30}> )*")


@dataclass(frozen=True, kw_only=True)
class NoiseConfig:
    share: float = 1.0
    """Share of the texts that are noised; the others stay as they are."""
    word_drop: float = 0.0
    """Probability that a word is dropped."""
    word_swap: float = 0.0
    """Probability that a word is exchanged with the next one."""
    word_mask: float = 0.0
    """Probability that a word is replaced by <mask>."""
    case: float = 0.0
    """Probability that a word is written in lower case, in capitals, or with a capital letter."""
    spacing: float = 0.0
    """Probability that the space between two words is lost, and that a word is split in two."""
    typos: float = 0.0
    """Probability that a letter or syllable is typed on a neighboring key (QWERTY, Korean two-set keyboard)."""
    jamo_slips: float = 0.0
    """Probability that a jamo of a Korean syllable is confused: ㅐ and ㅔ, ㄱ and ㄲ, ㄶ and ㄴ."""

    def __post_init__(self) -> None:
        for name, rate in vars(self).items():
            if not 0 <= rate <= 1:
                raise ValueError(f"{name}: {rate} is out of range. Write a number in [0, 1].")

    @property
    def is_on(self) -> bool:
        rates = (self.word_drop, self.word_swap, self.word_mask, self.case, self.spacing, self.typos, self.jamo_slips)
        return self.share > 0 and any(rates)


def text_seed(seed: int, epoch: int, index: int, stream: int = 0) -> int:
    """Return the random seed of one text: different for each run, epoch, text and use (`stream`: 0 is noise)."""
    return (seed << 96) | (epoch << 48) | (stream << 44) | index


def add_noise(text: str, config: NoiseConfig, seed: int) -> str:
    """Return a normalized text with noise; tags before it are kept. A text is never emptied."""
    generator = Random(seed)
    if generator.random() >= config.share:
        return text
    tags = _TAGS.match(text)
    start = tags.end() if tags else 0
    words = _change_words(text[start:].split(), config, generator)
    noised = "".join(_change_characters(_change_spacing(words, config.spacing, generator), config, generator))
    return text[:start] + noised if noised else text


def _change_words(words: list[str], config: NoiseConfig, generator: Random) -> list[str]:
    if config.word_drop:
        words = [word for word in words if generator.random() >= config.word_drop] or words[:1]
    if config.word_swap:
        words, i = list(words), 0
        while i + 1 < len(words):
            if generator.random() < config.word_swap:
                words[i], words[i + 1] = words[i + 1], words[i]
                i += 1  # a word moves at most once
            i += 1
    if config.word_mask:
        words = [MASK if generator.random() < config.word_mask else word for word in words]
    if config.case:
        words = [_change_case(word, generator) if generator.random() < config.case else word for word in words]
    return words


def _change_case(word: str, generator: Random) -> str:
    """Return the word in one of its other cases, if it has any."""
    forms = [form for form in dict.fromkeys((word.lower(), word.upper(), word.capitalize())) if form != word]
    return generator.choice(forms) if forms and word != MASK else word


def _change_spacing(words: list[str], rate: float, generator: Random) -> list[str]:
    """Return the words, each with the space before it: some spaces are lost, some words split."""
    parts: list[str] = []
    for i, word in enumerate(words):
        is_lost = rate and i and MASK not in (word, words[i - 1]) and generator.random() < rate
        parts.append(word if is_lost or not i else f" {word}")
        if rate and len(word) > 1 and word != MASK and generator.random() < rate:
            cut = generator.randrange(1, len(word))
            parts[-1] = parts[-1][: len(parts[-1]) - len(word) + cut]
            parts.append(f" {word[cut:]}")
    return parts


def _change_characters(words: list[str], config: NoiseConfig, generator: Random) -> list[str]:
    changes = [(config.typos, _cached_slips(key_slips)), (config.jamo_slips, _cached_slips(jamo_slips))]
    for rate, slips in changes:
        if rate:
            words = [word if word.endswith(MASK) else _slip(word, rate, slips, generator) for word in words]
    return words


def _slip(word: str, rate: float, slips: Callable[[str], list[str]], generator: Random) -> str:
    """Replace each character that has slips with probability `rate`."""
    characters = list(word)
    for i, character in enumerate(characters):
        if (options := slips(character)) and generator.random() < rate:
            characters[i] = generator.choice(options)
    return "".join(characters)


@lru_cache
def _cached_slips(slips: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lru_cache(maxsize=2**14)(slips)
