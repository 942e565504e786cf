"""Examples of each epoch: drawn pairs of the corpora, with noise, term replacement and subword regularization.

All of it is a pure function of (data, settings, seed, epoch, stage), so a resumed run sees the same examples. The clean
tokens order an epoch; the texts of a batch are noised and tokenized when the data loader asks for it.
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tongsa.batch import Batch, Examples, Indices, TokenIds
from tongsa.data.noise import add_noise, text_seed
from tongsa.errors import InputError
from tongsa.runs.corpora import StageConfig, draw_rows, pair_repeats
from tongsa.runs.data import PreparedData
from tongsa.runs.recipe import DataConfig, Recipe
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.training.data_loader import ExampleSource

NOISE, TERMS, SOURCE_SAMPLE, TARGET_SAMPLE = range(4)
"""Streams of `text_seed`: each use of a random generator for a drawn pair has its own seed."""


class EpochExamples:
    """A function from epoch and stage to tokenized pairs.

    Epochs are equal without weights, stages, noise, subword regularization and term replacement.
    """

    def __init__(self, data: PreparedData, recipe: Recipe) -> None:
        self.data, self.settings, self.seed = data, recipe.data, recipe.training.seed
        self.alpha = recipe.tokenizer.subword_regularization
        for number in range(len(self.settings.stages)):
            if not np.any(self._repeats(number)):
                raise InputError(
                    f"data.stages[{number}]: no pair is that short or has a weight. Raise its max_tokens or weights."
                )

    def __call__(self, epoch: int, stage: int | None = None) -> ExampleSource:
        """Return the examples of an epoch; without a stage those after the last one."""
        clean = self.clean(epoch, stage)
        if not (self.alpha or self.data.term_replacer or self.settings.noise.is_on):
            return clean
        return RandomExamples(clean, self.data, self.settings, self.alpha, self.seed, epoch)

    def clean(self, epoch: int, stage: int | None = None) -> Examples:
        """Return the drawn pairs of an epoch as they are in the corpora."""
        repeats = self._repeats(len(self.settings.stages) if stage is None else stage)
        rows = None if repeats is None else draw_rows(repeats, self.seed, epoch)
        return self.data.examples._replace(rows=rows)

    def stage_ends(self, grad_accumulation: int) -> list[int]:
        """Return the number of batches of the run at the end of each stage."""
        return [grad_accumulation * steps for steps in accumulate(stage.steps for stage in self.settings.stages)]

    def _repeats(self, number: int) -> NDArray[np.float64] | None:  # (pair,)
        """Return how often each pair is drawn in an epoch of a stage, on average; None if each is drawn once."""
        settings, sizes = self.settings, self.data.corpus_sizes
        stage = settings.stages[number] if number < len(settings.stages) else StageConfig(steps=1)
        weights = stage.weights or tuple(corpus.weight for corpus in settings.corpora) or (1.0,)
        repeats = pair_repeats(sizes, weights, settings.temperature)
        if not stage.max_tokens and set(repeats) == {1.0}:
            return None
        per_pair = np.repeat(np.array(repeats), sizes)
        if stage.max_tokens:
            examples = self.data.examples
            is_long = np.maximum(examples.source.lengths, examples.target.lengths) > stage.max_tokens
            per_pair[is_long] = 0
        return per_pair


@dataclass(frozen=True)
class RandomExamples:
    """Examples of an epoch with random texts or segmentations: each draw is a function of (seed, epoch, index).

    A side that randomness makes longer than data.max_tokens stays clean.
    """

    clean: Examples
    data: PreparedData
    settings: DataConfig
    alpha: float
    """Strength of the subword regularization."""
    seed: int
    epoch: int

    @property
    def lengths(self) -> Indices:  # (draw, 2)
        """Lengths of the clean pairs: they order the epoch."""
        return self.clean.lengths

    def batch(self, indices: Indices) -> Batch:
        rows = indices if self.clean.rows is None else self.clean.rows[indices]
        sources = [self.clean.source[row] for row in rows]
        targets = [self.clean.target[row] for row in rows]
        if self.data.task != "language_model":
            texts = self._source_texts(indices, rows)
            sources = self._sample(self.data.source_tokenizer, texts, sources, self._seeds(indices, SOURCE_SAMPLE))
        if self.alpha:
            texts, seeds = self.data.train.targets.take(rows), self._seeds(indices, TARGET_SAMPLE)
            targets = self._sample(self.data.target_tokenizer, texts, targets, seeds)
        return Batch.from_tokens(sources, targets, self.clean.appends_eos)

    def _source_texts(self, indices: Indices, rows: Indices) -> list[str]:
        texts, noise, replacer = self.data.train.sources.take(rows), self.settings.noise, self.data.term_replacer
        if replacer:
            seeds = self._seeds(indices, TERMS)
            texts = [replacer.replace_terms(*drawn) for drawn in zip(rows.tolist(), texts, seeds, strict=True)]
        if noise.is_on:
            seeds = self._seeds(indices, NOISE)
            texts = [add_noise(text, noise, seed) for text, seed in zip(texts, seeds, strict=True)]
        return texts

    def _sample(
        self, tokenizer: Tokenizer, texts: list[str], clean: list[TokenIds], seeds: list[int]
    ) -> list[TokenIds]:
        limit, samples = self.settings.max_tokens, tokenizer.sample_all(texts, self.alpha, seeds)
        return [
            np.array(sample, np.int32) if len(sample) <= limit else tokens
            for sample, tokens in zip(samples, clean, strict=True)
        ]

    def _seeds(self, indices: Indices, stream: int) -> list[int]:
        return [text_seed(self.seed, self.epoch, index, stream) for index in indices.tolist()]
