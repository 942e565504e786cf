"""A decoder that is a table of random numbers, and all of its outputs."""

import math
import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.config import DecodingConfig
from tongsa.interface import Memory
from tongsa.nn.recording import record_weights
from tongsa.tokenization.special import BOS, EOS, PAD

SIZE = 6  # <pad> <s> </s> <unk> and two letters


class Prefixes(NamedTuple):
    """The state of a Table: the prefix of each hypothesis."""

    rows: list[tuple[int, ...]]
    vocab_subset: Tensor | None = None

    def select(self, rows: Tensor) -> "Prefixes":
        return Prefixes([self.rows[row] for row in rows.tolist()], self.vocab_subset)

    def concat(self, other: "Prefixes") -> "Prefixes":
        return Prefixes([*self.rows, *other.rows], self.vocab_subset)


class Table:
    """A decoder whose logits are drawn with the prefix as seed. A prefix begins with the number of the sentence."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> Prefixes:
        return Prefixes([(int(slot),) for slot in memory.slots[:, 0, 0]], vocab_subset)

    def logits(self, prefix: tuple[int, ...]) -> list[float]:
        generator = random.Random(f"{self.seed} {prefix}")
        return [generator.gauss(0, 1.5) for _ in range(SIZE)]

    def step(self, token: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        rows = [(*row, next_token) for row, next_token in zip(state.rows, token.tolist(), strict=True)]
        logits = torch.tensor([self.logits(row) for row in rows])
        scored = logits if state.vocab_subset is None else logits[:, state.vocab_subset]
        return scored, Prefixes(rows, state.vocab_subset)

    def logs(self, sentence: int, tokens: list[int]) -> list[float]:
        prefix: tuple[int, ...] = (sentence, BOS)
        logs = []
        for token in [*tokens, EOS]:
            logs.append(float(torch.tensor(self.logits(prefix)).log_softmax(0)[token]))
            prefix = (*prefix, token)
        return logs

    def total(self, sentence: int, tokens: list[int]) -> float:
        return sum(self.logs(sentence, tokens))


class Looking(Table):
    """A table with cross-attention: two layers of two heads, whose weights are drawn like the logits."""

    slots = 3

    def read(self, sentence: int) -> int:
        """Return the number of slots of a sentence that are not padding: 3, 2, 1, 3, …"""
        return self.slots - sentence % self.slots

    def weights(self, prefix: tuple[int, ...]) -> Tensor:  # (layer, head, slot)
        generator, read = random.Random(f"{self.seed} looks {prefix}"), self.read(prefix[0])
        scores = torch.full((2, 2, self.slots), -torch.inf)
        scores[:, :, :read] = torch.tensor([generator.gauss(0, 1.5) for _ in range(4 * read)]).view(2, 2, read)
        return scores.softmax(dim=2)

    def step(self, token: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        logits, after = super().step(token, state)
        for layer in torch.stack([self.weights(row) for row in after.rows], dim=1):  # (row, head, slot)
            record_weights("cross", layer.unsqueeze(2))
        return logits, after

    def coverage(self, sentence: int, tokens: list[int]) -> float:
        """Return Σ_i log(min(Σ_j p_ij, 1)) over slots i and steps j, </s> included (Wu et al. 2016, eq. 14)."""
        prefixes = [(sentence, BOS, *tokens[:count]) for count in range(len(tokens) + 1)]
        attended = [self.weights(prefix).mean(dim=(0, 1)).tolist() for prefix in prefixes]
        sums = [sum(step[slot] for step in attended) for slot in range(self.read(sentence))]
        return sum(math.log(min(total, 1.0)) for total in sums)


def penalty(length: int, alpha: float) -> float:
    return DecodingConfig(alpha=alpha).length_penalty(length)


def sentences(count: int) -> Memory:
    return Memory(torch.arange(count, dtype=torch.float).view(count, 1, 1), torch.ones(count, 1, dtype=torch.bool))


def every_output(limit: int) -> Iterator[list[int]]:
    letters = [token for token in range(SIZE) if token not in (PAD, BOS, EOS)]
    for length in range(limit + 1):
        yield from (list(tokens) for tokens in product(letters, repeat=length))
