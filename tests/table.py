"""A decoder that is nothing but a table of numbers, and the space of its outputs."""

import math
import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.config import DecodingConfig
from tongsa.interface import Memory
from tongsa.nn.attention import record_weights
from tongsa.tokenization.special import BOS, EOS, PAD

SIZE = 6  # <pad> <s> </s> <unk> and two letters


class Prefixes(NamedTuple):
    rows: list[tuple[int, ...]]
    among: Tensor | None = None

    def select(self, rows: Tensor) -> "Prefixes":
        return Prefixes([self.rows[row] for row in rows.tolist()], self.among)

    def concat(self, other: "Prefixes") -> "Prefixes":
        return Prefixes([*self.rows, *other.rows], self.among)


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


class Looking(Table):
    """One that looks at its source too: two layers of two heads, whose weights are drawn as the logits are."""

    slots = 3

    def read(self, sentence: int) -> int:
        """The slots of a sentence that may be read: 3, 2, 1, 3, …; the other are padding."""
        return self.slots - sentence % self.slots

    def weights(self, prefix: tuple[int, ...]) -> Tensor:  # (layer, head, slot)
        generator, read = random.Random(f"{self.seed} looks {prefix}"), self.read(prefix[0])
        energy = torch.full((2, 2, self.slots), -torch.inf)
        energy[:, :, :read] = torch.tensor([generator.gauss(0, 1.5) for _ in range(4 * read)]).view(2, 2, read)
        return energy.softmax(dim=2)

    def step(self, piece: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        logits, after = super().step(piece, state)
        for layer in torch.stack([self.weights(row) for row in after.rows], dim=1):  # (row, head, slot)
            record_weights("cross", layer.unsqueeze(2))
        return logits, after

    def coverage(self, sentence: int, pieces: list[int]) -> float:
        """Σ_i log(min(Σ_j p_ij, 1)) over slots i and steps j, of which the last gives </s> (Wu et al. 2016, eq. 14)."""
        prefixes = [(sentence, BOS, *pieces[:count]) for count in range(len(pieces) + 1)]
        looked = [self.weights(prefix).mean(dim=(0, 1)).tolist() for prefix in prefixes]
        sums = [sum(step[slot] for step in looked) for slot in range(self.read(sentence))]
        return sum(math.log(min(one, 1.0)) for one in sums)


def penalty(length: int, alpha: float) -> float:
    return DecodingConfig(alpha=alpha).length_penalty(length)


def sentences(count: int) -> Memory:
    return Memory(torch.arange(count, dtype=torch.float).view(count, 1, 1), torch.ones(count, 1, dtype=torch.bool))


def every_output(limit: int) -> Iterator[list[int]]:
    letters = [piece for piece in range(SIZE) if piece not in (PAD, BOS, EOS)]
    for length in range(limit + 1):
        yield from (list(pieces) for pieces in product(letters, repeat=length))
