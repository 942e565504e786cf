"""tongsa, through its own loop, stream, optimiser and settings of the machine; alone, or with workers beside it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from task import Corpus, Rows, Task, read_corpus
from work import PROBES, Update, serve, spread

from tongsa import config
from tongsa.batch import Batch, Examples, Ragged, plan
from tongsa.experiment.machine import settled
from tongsa.experiment.plan import at_once, shared_out
from tongsa.models import KINDS
from tongsa.training.loop import Position, TrainingConfig, train
from tongsa.training.optimiser import build
from tongsa.training.parallel import Workers, joined, trained
from tongsa.training.schedule import RateConfig
from tongsa.training.stream import stream

FOREVER = 10**9


class Ours:
    def __init__(self, task: Task, corpus: Corpus, workers: Workers) -> None:
        self.workers = workers
        self.examples = Examples(Ragged(corpus.source), Ragged(corpus.target))
        whole = settled(
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
            ),
            workers,
        )
        settings = config.build(KINDS[task.kind], task.model, "model")
        among = workers.count if workers.count > 1 else at_once(whole, settings)
        self.training = shared_out(whole, among)
        self.batches = plan(self.examples.lengths, budget=whole.batch_tokens, seed=task.seed, epoch=0)
        torch.manual_seed(task.seed)
        model = settings.build(corpus.pieces, corpus.pieces)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.learner = workers.learner(model, torch.device("cpu"), shard=False)
        self.optimisers = build(trained(self.learner), self.training, workers)

    def updates(self) -> Iterator[Update]:
        training = self.training
        batches = stream(lambda _: self.examples, budget=training.batch_tokens, seed=training.seed, start=Position())
        return self._learnt(batches, training)

    def probes(self, batches: Sequence[Rows]) -> Iterator[Update]:
        """In this thread, for torch counts nobody else's products."""
        parts = (part for rows in batches for part in self._shared(rows))
        here = replace(self.training, threads=1)
        return islice(self._learnt(((Position(), self.examples.batch(part)) for part in parts), here), len(batches))

    def _shared(self, rows: Rows) -> Iterator[Rows]:
        """A batch as the batches of an update."""
        return (rows[at :: self.training.accumulate] for at in range(self.training.accumulate))

    def _learnt(self, batches: Iterator[tuple[Position, Batch]], training: TrainingConfig) -> Iterator[Update]:
        schedule = training.rate.build(1, FOREVER)
        for step in train(self.learner, batches, self.optimisers, schedule, training, workers=self.workers):
            yield Update(step.tokens, step.padding)


def places(examples: Examples, tokens: int, seed: int) -> int:
    """The budget of places on the longer side whose batches hold so many target tokens in the mean, as theirs do."""
    batches = plan(examples.lengths, budget=tokens, seed=seed, epoch=0)
    return round(tokens * tokens * len(batches) / examples.lengths[:, 1].sum())


def beside(task: Task) -> None:
    """What the other workers do: the same as the first, until it is gone."""
    corpus = read_corpus(task.corpus)
    with joined() as workers:
        contestant = Ours(task, corpus, workers)
        list(contestant.probes(spread(contestant.batches, corpus.lengths, PROBES)))
        for _ in contestant.updates():
            pass


def main() -> None:
    task = Task.read(Path(sys.argv[1]))
    if "RANK" in os.environ:
        return beside(task)
    others: list[subprocess.Popen[bytes]] = []
    if task.workers > 1:
        from torch.distributed import TCPStore

        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        os.environ |= {
            "WORLD_SIZE": str(task.workers),
            "LOCAL_WORLD_SIZE": str(task.workers),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(store.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "GLOO_SOCKET_IFNAME": "lo",
        }
        for rank in range(1, task.workers):
            place = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            command = [sys.executable, __file__, sys.argv[1]]
            others.append(subprocess.Popen(command, env=os.environ | place, stderr=subprocess.DEVNULL))
        os.environ |= {"RANK": "0", "LOCAL_RANK": "0"}
    with joined() as workers:
        serve(lambda task, corpus: Ours(task, corpus, workers), [other.pid for other in others])
        for other in others:
            other.kill()
            other.wait()
    return None


if __name__ == "__main__":
    main()
