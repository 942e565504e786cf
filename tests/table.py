"""A decoder that is nothing but a table of numbers, and the space of its outputs."""

import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.search import SearchConfig
from tongsa.interface import Memory
from tongsa.text import BOS, EOS, PAD

SIZE = 6  # <pad> <s> </s> <unk> and two letters


class Prefixes(NamedTuple):
    rows: list[tuple[int, ...]]
    among: Tensor | None = None

    def select(self, rows: Tensor) -> "Prefixes":
        return Prefixes([self.rows[row] for row in rows.tolist()], self.among)


class Table:
    """A decoder whose logits are drawn from a hash of the prefix; the first element tells the sentences apart."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, target: object, memory: Memory) -> Tensor:
        raise NotImplementedError

    def start(self, memory: Memory, among: Tensor | None = None) -> Prefixes:
        return Prefixes([(int(slot),) for slot in memory.slots[:, 0, 0]], among)

    def logits(self, prefix: tuple[int, ...]) -> list[float]:
        generator = random.Random(f"{self.seed} {prefix}")
        return [generator.gauss(0, 1.5) for _ in range(SIZE)]

    def step(self, piece: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        rows = [(*row, at) for row, at in zip(state.rows, piece.tolist(), strict=True)]
        logits = torch.tensor([self.logits(row) for row in rows])
        return logits if state.among is None else logits[:, state.among], Prefixes(rows, state.among)

    def logs(self, sentence: int, pieces: list[int]) -> list[float]:
        prefix: tuple[int, ...] = (sentence, BOS)
        logs = []
        for piece in [*pieces, EOS]:
            logs.append(float(torch.tensor(self.logits(prefix)).log_softmax(0)[piece]))
            prefix = (*prefix, piece)
        return logs

    def total(self, sentence: int, pieces: list[int]) -> float:
        return sum(self.logs(sentence, pieces))


def penalty(length: int, alpha: float) -> float:
    return SearchConfig(alpha=alpha).penalty(length)


def sentences(count: int) -> Memory:
    return Memory(torch.arange(count, dtype=torch.float).view(count, 1, 1), torch.ones(count, 1, dtype=torch.bool))


def every_output(limit: int) -> Iterator[list[int]]:
    letters = [piece for piece in range(SIZE) if piece not in (PAD, BOS, EOS)]
    for length in range(limit + 1):
        yield from (list(pieces) for pieces in product(letters, repeat=length))
