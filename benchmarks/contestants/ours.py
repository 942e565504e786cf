"""tongsa with its training loop, data loader, optimizers and hardware settings; one process or several workers."""

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
from tongsa.batch import Batch, Examples, Ragged, epoch_order
from tongsa.models import KINDS
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.update_batches import split_update
from tongsa.training.config import TrainingConfig
from tongsa.training.data_loader import iterate_batches
from tongsa.training.distributed import DistributedContext, init_distributed, unwrap_model
from tongsa.training.loop import DataPosition, train
from tongsa.training.loss import TrainingModel
from tongsa.training.lr_schedule import LRScheduleConfig
from tongsa.training.optimizer import build_optimizers

MAX_STEPS = 10**9


class Ours:
    def __init__(self, task: Task, corpus: Corpus, workers: DistributedContext) -> None:
        self.workers = workers
        self.examples = Examples(Ragged(corpus.source), Ragged(corpus.target))
        training = configure_hardware(
            TrainingConfig(
                steps=MAX_STEPS,
                batch_tokens=batch_budget(self.examples, task.size.tokens, task.seed),
                seed=task.seed,
                label_smoothing=task.label_smoothing,
                optimizer="adam",
                lr=LRScheduleConfig(schedule="constant", peak=task.lr, warmup=1),
                precision="fp32",
                device="cpu",
                threads=task.threads,
            ),
            workers,
        )
        settings = config.build_config(KINDS[task.kind], task.model, "model")
        self.training, _ = split_update(training, settings, workers.world_size)
        self.batches = epoch_order(self.examples.lengths, batch_tokens=training.batch_tokens, seed=task.seed, epoch=0)
        torch.manual_seed(task.seed)
        model = settings.build(corpus.vocab_size, corpus.vocab_size)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.model = workers.wrap_model(TrainingModel(model, self.training), torch.device("cpu"), shard=False)
        self.optimizers = build_optimizers(unwrap_model(self.model), self.training, workers)

    def updates(self) -> Iterator[Update]:
        training = self.training
        batches = iterate_batches(
            lambda *_: self.examples, batch_tokens=training.batch_tokens, seed=training.seed, start=DataPosition()
        )
        return self._train(batches, training)

    def probes(self, batches: Sequence[Rows]) -> Iterator[Update]:
        """Yield one update for each batch, computed in this thread: torch's FLOP counter sees no other."""
        parts = (part for rows in batches for part in self._split(rows))
        one_thread = replace(self.training, threads=1)
        return islice(
            self._train(((DataPosition(), self.examples.batch(part)) for part in parts), one_thread), len(batches)
        )

    def _split(self, rows: Rows) -> Iterator[Rows]:
        """Split a batch into the batches of one update."""
        return (rows[i :: self.training.grad_accumulation] for i in range(self.training.grad_accumulation))

    def _train(self, batches: Iterator[tuple[DataPosition, Batch]], training: TrainingConfig) -> Iterator[Update]:
        schedule = training.lr.build(1, MAX_STEPS)
        for step in train(self.model, batches, self.optimizers, schedule, training, distributed=self.workers):
            yield Update(step.tokens, step.padding_fraction)


def batch_budget(examples: Examples, tokens: int, seed: int) -> int:
    """Return the `batch_tokens` whose batches have `tokens` target tokens on average, like those of the peers."""
    batches = epoch_order(examples.lengths, batch_tokens=tokens, seed=seed, epoch=0)
    return round(tokens * tokens * len(batches) / examples.lengths[:, 1].sum())


def run_other_worker(task: Task) -> None:
    """Train like rank 0 until the process is killed."""
    corpus = read_corpus(task.corpus)
    with init_distributed() as workers:
        contestant = Ours(task, corpus, workers)
        list(contestant.probes(spread(contestant.batches, corpus.lengths, PROBES)))
        for _ in contestant.updates():
            pass


def main() -> None:
    task = Task.read(Path(sys.argv[1]))
    if "RANK" in os.environ:
        return run_other_worker(task)
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
            ranks = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            command = [sys.executable, __file__, sys.argv[1]]
            others.append(subprocess.Popen(command, env=os.environ | ranks, stderr=subprocess.DEVNULL))
        os.environ |= {"RANK": "0", "LOCAL_RANK": "0"}
    with init_distributed() as workers:
        serve(lambda task, corpus: Ours(task, corpus, workers), [other.pid for other in others])
        for other in others:
            other.kill()
            other.wait()
    return None


if __name__ == "__main__":
    main()
