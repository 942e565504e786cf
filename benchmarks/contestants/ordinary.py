"""A plain PyTorch training loop, for peers that have a model but no loop."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from task import BOS, EOS, PAD, Corpus, Rows, Task
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from work import Update


class Ordinary:
    """Train a model that maps source and decoder input, (batch, length), to logits (batch, length, vocabulary)."""

    def __init__(self, model: nn.Module, task: Task, corpus: Corpus) -> None:
        self.model = model.train()
        self.task = task
        self.parameters = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
        self.sources = [torch.tensor([*row, EOS]) for row in corpus.source]
        self.targets = [torch.tensor([BOS, *row, EOS]) for row in corpus.target]
        self.batches = length_sorted(corpus.lengths, task.size.tokens)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=task.lr, betas=(0.9, 0.98), eps=1e-9)

    def updates(self) -> Iterator[Update]:
        random = np.random.default_rng(self.task.seed)
        while True:
            yield from self.probes([self.batches[i] for i in random.permutation(len(self.batches))])

    def probes(self, batches: Sequence[Rows]) -> Iterator[Update]:
        for rows in batches:
            source = pad_sequence([self.sources[row] for row in rows], batch_first=True, padding_value=PAD)
            target = pad_sequence([self.targets[row] for row in rows], batch_first=True, padding_value=PAD)
            decoder_input, labels = target[:, :-1], target[:, 1:]
            self.optimizer.zero_grad()
            logits = self.model(source, decoder_input)
            loss = F.cross_entropy(
                logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, label_smoothing=self.task.label_smoothing
            )
            loss.backward()
            self.optimizer.step()
            loss.item()  # all contestants read the loss after each update
            yield Update(int((labels != PAD).sum()), padding(source, labels))


def padding(source: Tensor, target: Tensor) -> float:
    """Return the share of padding positions on both sides."""
    filled = sum(int((side != PAD).sum()) for side in (source, target))
    return 1 - filled / (source.numel() + target.numel())


def length_sorted(lengths: Rows, tokens: int) -> list[Rows]:
    """Return batches of at most `tokens` target positions, of pairs sorted by target length, then source length."""
    order = np.lexsort((lengths[:, 0], lengths[:, 1]))
    batches: list[Rows] = []
    start = 0
    for i, row in enumerate(order):
        if i > start and lengths[row, 1] * (i - start + 1) > tokens:
            batches.append(order[start:i])
            start = i
    return [*batches, order[start:]]
