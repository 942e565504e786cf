"""Examples of each epoch: drawn pairs of the corpora, with noise, term replacement and subword regularization.

All of it is a pure function of (data, settings, seed, epoch, stage), so a resumed run sees the same examples.
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np

from tongsa.batch import Examples, Indices, Ragged
from tongsa.data.noise import add_noise, text_seed
from tongsa.errors import InputError
from tongsa.runs.corpora import StageConfig, draw_rows, pair_repeats
from tongsa.runs.data import PreparedData
from tongsa.runs.recipe import Recipe
from tongsa.tokenization.tokenizer import Tokenizer


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

    def __call__(self, epoch: int, stage: int | None = None) -> Examples:
        """Return the examples of an epoch; without a stage those after the last one."""
        rows = self._drawn_rows(epoch, len(self.settings.stages) if stage is None else stage)
        data, replacer, noise = self.data, self.data.term_replacer, self.settings.noise
        if not (self.alpha or replacer or noise.is_on):
            return data.examples._replace(rows=rows)
        pairs = data.train if rows is None else data.train.select(rows)
        sources: Iterable[str] = replacer.replaced_sources(epoch, rows) if replacer else pairs.sources
        source = self._sample(data.source_tokenizer, self._add_noise(sources, epoch), 2 * epoch)
        if noise.is_on:
            clean = data.examples.source
            source = _without_long(source, clean, rows, self.settings.max_tokens)
        target = self._sample(data.target_tokenizer, pairs.targets, 2 * epoch + 1)
        return Examples(source, target, data.examples.appends_eos)

    def stage_ends(self, grad_accumulation: int) -> list[int]:
        """Return the number of batches of the run at the end of each stage."""
        return [grad_accumulation * steps for steps in accumulate(stage.steps for stage in self.settings.stages)]

    def _sample(self, tokenizer: Tokenizer, texts: Iterable[str], number: int) -> Ragged:
        return Ragged(tokenizer.sample_all(texts, self.alpha, self.seed * 1_000_003 + number))

    def _add_noise(self, texts: Iterable[str], epoch: int) -> Iterable[str]:
        noise = self.settings.noise
        if not noise.is_on:
            return texts
        return (add_noise(text, noise, text_seed(self.seed, epoch, i)) for i, text in enumerate(texts))

    def _drawn_rows(self, epoch: int, stage: int) -> Indices | None:
        """Return the pairs of an epoch; None if each is drawn once."""
        repeats = self._repeats(stage)
        return None if repeats is None else draw_rows(repeats, self.seed, epoch)

    def _repeats(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:  # (pair,)
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


def _without_long(noised: Ragged, clean: Ragged, rows: Indices | None, max_tokens: int) -> Ragged:
    """Return the noised sources; those that noise has made longer than allowed stay as they are."""
    if noised.lengths.max(initial=0) <= max_tokens:
        return noised

    def sequences() -> Iterator[list[int]]:
        for i in range(len(noised)):
            tokens = noised[i] if len(noised[i]) <= max_tokens else clean[i if rows is None else int(rows[i])]
            yield tokens.tolist()

    return Ragged(sequences())
