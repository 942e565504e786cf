"""The living hypotheses of a search, and what may have a say in how they go on."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Beams(NamedTuple):
    """Living hypotheses: for each sentence still searched, the same number of them."""

    sentences: list[int]
    totals: Tensor  # (sentence, hypothesis): log p
    merits: Tensor  # (sentence, hypothesis): log p and what rules add to it; -inf where there is no hypothesis
    prefixes: Tensor  # (sentence, hypothesis, piece), each beginning with <s>
    logs: Tensor  # (sentence, hypothesis, piece): log p of each, 0 for <s>
    covered: Tensor  # (sentence, hypothesis, slot): how much of the source was looked at; no slots if nobody asks

    def select(self, keep: list[int]) -> "Beams":
        if len(keep) == len(self.sentences):
            return self
        kept = torch.tensor(keep, dtype=torch.long, device=self.totals.device)
        return Beams([self.sentences[row] for row in keep], *(part.index_select(0, kept) for part in self[1:]))

    @property
    def places(self) -> tuple[int, int]:
        return len(self.sentences), self.totals.shape[1]


Rule = Callable[[Tensor, Beams], Tensor]
"""From log-scores (sentence, hypothesis, piece) of the next pieces to what they shall count; -inf forbids."""
Choice = Callable[[Tensor, Beams], Tensor]
"""From the merits (sentence, hypothesis, piece) of all candidates to the places in a flat row (sentence, rank) of
those that are chosen, best first. It is asked once more without </s> when one of them ends."""
Witness = Callable[[Beams, Tensor, Tensor], None]
"""Told at each step: the beams before it, the candidates' merits, and the places of those that ended or go on."""


class Guide(NamedTuple):
    """What else a search is asked to heed."""

    rules: tuple[Rule, ...] = ()
    choice: Choice | None = None
    """The likeliest `beam`, if nothing else is asked for."""
    witness: Witness | None = None
    eager: frozenset[int] = frozenset()
    """Sentences whose living hypotheses may never be allowed to end: the first outputs that finish are enough."""


FREE = Guide()


def best(count: int) -> Choice:
    """The likeliest."""

    def choose(merits: Tensor, _: Beams) -> Tensor:
        every = merits.flatten(1)
        return every.topk(min(count, every.shape[1]), dim=1).indices

    return choose
