"""Settings of several training corpora and of the stages of a run; how often each pair is drawn in an epoch."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from tongsa.config import ColumnNumber, In, NonNegative, NonNegativeFloat, Positive, PositiveFloat, check_ranges
from tongsa.data.array_files import index_dtype

DRAWS_STREAM = 1
"""Third part of the seed of the draws; the order of an epoch has the first two, seed and epoch."""
DRAWN_BLOCK = 1 << 16
"""Pairs that are drawn together: random numbers of all pairs would take more memory than their indices."""
_TAG = re.compile(r"<[\w-]{1,30}>")


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    train: tuple[str, ...]
    """Files of pairs, as data.train."""
    dev: tuple[str, ...] = ()
    """Its part of the development set. If no corpus has one, a part of each corpus is split off."""
    dev_fraction: Annotated[float, In(0, 1, open_high=True)] = 0.0
    """Fraction of its sources held out for the development set though other corpora name files; 0: data.dev_fraction
    if none does."""
    test: tuple[str, ...] = ()
    """Its own test set, scored once at the end of training with its tag, apart from data.test."""
    tag: str = ""
    """Tag before each source, such as <2ko> or <bible>: one token, which tells the model direction or domain."""
    weight: PositiveFloat = 1.0
    """Mean number of times that a pair is drawn in an epoch, before data.temperature."""
    columns: tuple[ColumnNumber, ColumnNumber] = (1, 2)
    """Columns of source and target, counted from 1; [2, 1] reverses the direction."""
    header: bool = False
    """The first line of each TSV or CSV file names the columns."""
    encoding: str = ""
    """Encoding of its files; without it data.encoding."""
    source_language: str = ""
    """Language code such as `en`; without it data.source_language."""
    target_language: str = ""
    """Language code such as `ko`; without it data.target_language."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_tag(self.tag)
        if not self.train:
            raise ValueError("train: no files. Name the files of the corpus.")
        if self.dev and self.dev_fraction:
            raise ValueError("dev_fraction: not beside dev. Leave one of them out.")


@dataclass(frozen=True, kw_only=True)
class StageConfig:
    """The first steps of a run on a part of the data. After the last stage all data are used, with their weights."""

    steps: Positive
    """Updates of this stage."""
    max_tokens: NonNegative = 0
    """Only pairs with at most this many tokens on each side; 0 is no limit."""
    weights: tuple[NonNegativeFloat, ...] = ()
    """Weight of each corpus, in the order of data.corpora; 0 leaves a corpus out. Without it those of the corpora."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.weights and not any(self.weights):
            raise ValueError("weights: all are 0. Give at least one corpus a weight above 0.")


def check_tag(tag: str) -> None:
    """Raise ValueError for a tag that is not one word in angle brackets."""
    if tag and not _TAG.fullmatch(tag):
        raise ValueError(f"tag {tag!r}: not a tag. Write one word of letters, digits and - in brackets: <2ko>.")


def pair_repeats(sizes: Sequence[int], weights: Sequence[float], temperature: float) -> list[float]:
    """Return for each corpus the mean number of draws of a pair in an epoch: weight · (n_max / n)^(1 - 1/T).

    A corpus has the share ∝ weight · n^(1/T) of an epoch. Pairs of the largest corpus are drawn `weight` times.
    """
    largest = max(sizes)
    return [
        weight * (largest / size) ** (1 - 1 / temperature) if size else 0.0
        for size, weight in zip(sizes, weights, strict=True)
    ]


def draw_rows(repeats: NDArray[np.float64], seed: int, epoch: int) -> NDArray[np.integer[Any]]:  # (draw,)
    """Return the indices of the pairs of an epoch, ascending: index i occurs repeats[i] times on average.

    The number of copies is repeats[i] rounded down or up, by a random number that depends on (seed, epoch, i) only.
    """
    generator, dtype = np.random.default_rng((seed, epoch, DRAWS_STREAM)), index_dtype(len(repeats))
    blocks = [np.zeros(0, dtype)]
    for start in range(0, len(repeats), DRAWN_BLOCK):
        block = repeats[start : start + DRAWN_BLOCK]
        rounded = np.floor(block)
        copies = rounded.astype(np.int64) + (generator.random(len(block)) < block - rounded)
        blocks.append(np.repeat(np.arange(start, start + len(block), dtype=dtype), copies))
    return np.concatenate(blocks)
