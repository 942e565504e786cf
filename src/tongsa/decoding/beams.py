"""The living hypotheses of a search, and what may have a say in how they go on."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.likeliest import Chosen
from tongsa.text import BOS, PAD


class Beams(NamedTuple):
    """Living hypotheses: for each sentence still searched, the same number of them."""

    sentences: list[int]
    totals: Tensor  # (sentence, hypothesis): log p
    merits: Tensor  # (sentence, hypothesis): log p and what rules add to it; -inf where there is no hypothesis
    prefixes: Tensor  # (sentence, hypothesis, piece), each beginning with <s>
    logs: Tensor  # (sentence, hypothesis, piece): log p of each, 0 for <s>
    covered: Tensor  # (sentence, hypothesis, slot): how much of the source was looked at; no slots if nobody asks
    late: list[int]
    """Of each sentence: the steps before it came. So many places before its <s> are empty."""

    @classmethod
    def first(cls, sentences: range, device: torch.device) -> "Beams":
        """One hypothesis for each: <s>."""
        zeros = torch.zeros(len(sentences), 1, device=device)
        begun = torch.full((len(sentences), 1, 1), BOS, device=device)
        return cls([*sentences], zeros, zeros, begun, zeros.unsqueeze(2), zeros[:, :, None][:, :, :0], [0] * len(zeros))

    @property
    def places(self) -> tuple[int, int]:
        return len(self.sentences), self.totals.shape[1]

    @property
    def lengths(self) -> list[int]:
        """Of each sentence's prefixes, <s> included."""
        return [self.prefixes.shape[2] - late for late in self.late]

    def select(self, keep: list[int]) -> "Beams":
        if len(keep) == len(self.sentences):
            return self
        kept = torch.tensor(keep, dtype=torch.long, device=self.totals.device)
        totals, merits, prefixes, logs, covered = (part.index_select(0, kept) for part in self[1:6])
        late = [self.late[row] for row in keep]
        gone = min(late, default=0)  # places that are empty in all of them
        return Beams(
            [self.sentences[row] for row in keep],
            totals,
            merits,
            prefixes[:, :, gone:],
            logs[:, :, gone:],
            covered,
            [steps - gone for steps in late],
        )

    def longer(self, covered: Tensor, chosen: Chosen) -> "Beams":
        """The hypotheses that go on with the chosen pieces."""
        return Beams(
            self.sentences,
            self.totals.gather(1, chosen.origin) + chosen.log,
            chosen.merit,
            torch.cat([_taken(self.prefixes, chosen.origin), chosen.piece.unsqueeze(2)], dim=2),
            torch.cat([_taken(self.logs, chosen.origin), chosen.log.unsqueeze(2)], dim=2),
            _taken(covered, chosen.origin),
            self.late,
        )

    def beside(self, others: "Beams") -> "Beams":
        """These sentences, and below them others that come now."""
        length = self.prefixes.shape[2]
        return Beams(
            [*self.sentences, *others.sentences],
            _beside(self.totals, others.totals, 0.0),
            _beside(self.merits, others.merits, -torch.inf),
            _beside(self.prefixes, others.prefixes, PAD),
            _beside(self.logs, others.logs, 0.0),
            _beside(self.covered, others.covered, 0.0),
            [*self.late, *(length - own for own in others.lengths)],
        )


def _taken(values: Tensor, origin: Tensor) -> Tensor:
    """Of values (sentence, hypothesis, …) those of the hypotheses at (sentence, rank)."""
    return values.gather(1, origin.unsqueeze(2).expand(-1, -1, values.shape[2]))


def _beside(above: Tensor, below: Tensor, empty: float) -> Tensor:  # (sentence, hypothesis, …)
    """Hypotheses stand at the left, their pieces at the right."""
    width = max(above.shape[1], below.shape[1])
    both = above.new_full((len(above) + len(below), width, *above.shape[2:]), empty)
    both[: len(above), : above.shape[1]] = above
    behind = (slice(above.shape[2] - below.shape[2], None),) if above.dim() > 2 else ()
    both[(slice(len(above), None), slice(below.shape[1]), *behind)] = below
    return both


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
"""Nothing else is asked for."""


def best(count: int) -> Choice:
    """The likeliest."""

    def choose(merits: Tensor, _: Beams) -> Tensor:
        every = merits.flatten(1)
        return every.topk(min(count, every.shape[1]), dim=1).indices

    return choose
