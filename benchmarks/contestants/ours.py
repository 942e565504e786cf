"""tongsa, through its own loop, stream, optimiser and settings of the machine."""

from collections.abc import Iterator, Sequence
from itertools import islice

from task import Corpus, Rows, Task
from work import Update, serve

from tongsa import config
from tongsa.batch import Batch, Examples, Ragged, plan
from tongsa.experiment.machine import settled
from tongsa.models import KINDS
from tongsa.training.loop import Position, TrainingConfig, train
from tongsa.training.optimiser import build
from tongsa.training.schedule import RateConfig
from tongsa.training.stream import stream

FOREVER = 10**9


class Ours:
    def __init__(self, task: Task, corpus: Corpus) -> None:
        self.examples = Examples(Ragged(corpus.source), Ragged(corpus.target))
        self.training = settled(
            TrainingConfig(
                steps=FOREVER,
                batch_tokens=places(self.examples, task.size.tokens, task.seed),
                seed=task.seed,
                smoothing=task.smoothing,
                optimiser="adam",
                rate=RateConfig(schedule="constant", peak=task.rate, warmup=1),
                precision="fp32",
                device="cpu",
                threads=task.threads,
            )
        )
        self.batches = plan(self.examples.lengths, budget=self.training.batch_tokens, seed=task.seed, epoch=0)
        settings = config.build(KINDS[task.kind], task.model, "model")
        self.model = settings.build(corpus.pieces, corpus.pieces)
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.optimisers = build(self.model, self.training)

    def updates(self) -> Iterator[Update]:
        training = self.training
        return self._learnt(
            stream(lambda _: self.examples, budget=training.batch_tokens, seed=training.seed, start=Position())
        )

    def probes(self, batches: Sequence[Rows]) -> Iterator[Update]:
        steps = self._learnt((Position(), self.examples.batch(rows)) for rows in batches)
        return islice(steps, len(batches))

    def _learnt(self, batches: Iterator[tuple[Position, Batch]]) -> Iterator[Update]:
        schedule = self.training.rate.build(1, FOREVER)
        for step in train(self.model, batches, self.optimisers, schedule, self.training):
            yield Update(step.tokens, step.padding)


def places(examples: Examples, tokens: int, seed: int) -> int:
    """The budget of places on the longer side whose batches hold so many target tokens in the mean, as theirs do."""
    batches = plan(examples.lengths, budget=tokens, seed=seed, epoch=0)
    return round(tokens * tokens * len(batches) / examples.lengths[:, 1].sum())


if __name__ == "__main__":
    serve(Ours)
