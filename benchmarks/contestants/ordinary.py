"""A training loop as it is ordinarily written: what the peers, who bring a model but no loop, are trained by."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from task import BOS, EOS, PAD, Corpus, Rows, Task
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from work import Update


class Ordinary:
    """A model that takes source and shifted target, (batch, length) both, and gives logits (batch, length, piece)."""

    def __init__(self, model: nn.Module, task: Task, corpus: Corpus) -> None:
        self.model = model.train()
        self.task = task
        self.parameters = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
        self.sources = [torch.tensor([*row, EOS]) for row in corpus.source]
        self.targets = [torch.tensor([BOS, *row, EOS]) for row in corpus.target]
        self.batches = length_sorted(corpus.lengths, task.size.tokens)
        self.optimiser = torch.optim.Adam(model.parameters(), lr=task.rate, betas=(0.9, 0.98), eps=1e-9)

    def updates(self) -> Iterator[Update]:
        random = np.random.default_rng(self.task.seed)
        while True:
            yield from self.probes([self.batches[at] for at in random.permutation(len(self.batches))])

    def probes(self, batches: Sequence[Rows]) -> Iterator[Update]:
        for rows in batches:
            source = pad_sequence([self.sources[row] for row in rows], batch_first=True, padding_value=PAD)
            target = pad_sequence([self.targets[row] for row in rows], batch_first=True, padding_value=PAD)
            shifted, wanted = target[:, :-1], target[:, 1:]
            self.optimiser.zero_grad()
            logits = self.model(source, shifted)
            loss = F.cross_entropy(
                logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, label_smoothing=self.task.smoothing
            )
            loss.backward()
            self.optimiser.step()
            loss.item()  # every loop tells its loss
            yield Update(int((wanted != PAD).sum()), padding(source, wanted))


def padding(source: Tensor, target: Tensor) -> float:
    filled = sum(int((side != PAD).sum()) for side in (source, target))
    return 1 - filled / (source.numel() + target.numel())


def length_sorted(lengths: Rows, tokens: int) -> list[Rows]:
    """All pairs by target length, then source length, cut where a batch would hold more places than this."""
    order = np.lexsort((lengths[:, 0], lengths[:, 1]))
    batches: list[Rows] = []
    start = 0
    for at, row in enumerate(order):
        if at > start and lengths[row, 1] * (at - start + 1) > tokens:
            batches.append(order[start:at])
            start = at
    return [*batches, order[start:]]
