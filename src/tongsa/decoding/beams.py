"""The living hypotheses of a search, and what may have a say in how they go on."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.topk import BeamStep
from tongsa.tokenization.special import BOS, PAD


class Beams(NamedTuple):
    """Living hypotheses: for each sentence still searched, the same number of them."""

    sentences: list[int]
    log_probs: Tensor  # (sentence, hypothesis): log p
    ranking_scores: Tensor  # (sentence, hypothesis): log p and what rules add to it; -inf where there is no hypothesis
    tokens: Tensor  # (sentence, hypothesis, piece), each beginning with <s>
    token_log_probs: Tensor  # (sentence, hypothesis, piece): log p of each, 0 for <s>
    coverage: Tensor  # (sentence, hypothesis, slot): how much of the source was looked at; no slots if nobody asks
    left_padding: list[int]
    """Of each sentence: the steps before it came. So many places before its <s> are empty."""

    @classmethod
    def initial(cls, sentences: range, device: torch.device) -> "Beams":
        """One hypothesis for each: <s>."""
        zeros = torch.zeros(len(sentences), 1, device=device)
        begun = torch.full((len(sentences), 1, 1), BOS, device=device)
        return cls([*sentences], zeros, zeros, begun, zeros.unsqueeze(2), zeros[:, :, None][:, :, :0], [0] * len(zeros))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.sentences), self.log_probs.shape[1]

    @property
    def lengths(self) -> list[int]:
        """Of each sentence's prefixes, <s> included."""
        return [self.tokens.shape[2] - late for late in self.left_padding]

    def select(self, rows: list[int]) -> "Beams":
        if len(rows) == len(self.sentences):
            return self
        kept = torch.tensor(rows, dtype=torch.long, device=self.log_probs.device)
        totals, merits, prefixes, logs, covered = (part.index_select(0, kept) for part in self[1:6])
        late = [self.left_padding[row] for row in rows]
        gone = min(late, default=0)  # places that are empty in all of them
        return Beams(
            [self.sentences[row] for row in rows],
            totals,
            merits,
            prefixes[:, :, gone:],
            logs[:, :, gone:],
            covered,
            [steps - gone for steps in late],
        )

    def extend(self, coverage: Tensor, step: BeamStep) -> "Beams":
        """The hypotheses that go on with the chosen pieces."""
        return Beams(
            self.sentences,
            self.log_probs.gather(1, step.parent) + step.token_log_prob,
            step.ranking_score,
            torch.cat([_gather_parents(self.tokens, step.parent), step.token.unsqueeze(2)], dim=2),
            torch.cat([_gather_parents(self.token_log_probs, step.parent), step.token_log_prob.unsqueeze(2)], dim=2),
            _gather_parents(coverage, step.parent),
            self.left_padding,
        )

    def concat(self, other: "Beams") -> "Beams":
        """These sentences, and below them others that come now."""
        length = self.tokens.shape[2]
        return Beams(
            [*self.sentences, *other.sentences],
            _concat_padded(self.log_probs, other.log_probs, 0.0),
            _concat_padded(self.ranking_scores, other.ranking_scores, -torch.inf),
            _concat_padded(self.tokens, other.tokens, PAD),
            _concat_padded(self.token_log_probs, other.token_log_probs, 0.0),
            _concat_padded(self.coverage, other.coverage, 0.0),
            [*self.left_padding, *(length - own for own in other.lengths)],
        )


def _gather_parents(values: Tensor, parent: Tensor) -> Tensor:
    """Of values (sentence, hypothesis, …) those of the hypotheses at (sentence, rank)."""
    return values.gather(1, parent.unsqueeze(2).expand(-1, -1, values.shape[2]))


def _concat_padded(first: Tensor, second: Tensor, fill_value: float) -> Tensor:  # (sentence, hypothesis, …)
    """Hypotheses stand at the left, their pieces at the right."""
    width = max(first.shape[1], second.shape[1])
    both = first.new_full((len(first) + len(second), width, *first.shape[2:]), fill_value)
    both[: len(first), : first.shape[1]] = first
    behind = (slice(first.shape[2] - second.shape[2], None),) if first.dim() > 2 else ()
    both[(slice(len(first), None), slice(second.shape[1]), *behind)] = second
    return both


Rule = Callable[[Tensor, Beams], Tensor]
"""From log-scores (sentence, hypothesis, piece) of the next pieces to what they shall count; -inf forbids."""
Selection = Callable[[Tensor, Beams], Tensor]
"""From the merits (sentence, hypothesis, piece) of all candidates to the places in a flat row (sentence, rank) of
those that are chosen, best first. It is asked once more without </s> when one of them ends."""
SearchObserver = Callable[[Beams, Tensor, Tensor], None]
"""Told at each step: the beams before it, the candidates' merits, and the places of those that ended or go on."""


class SearchStrategy(NamedTuple):
    """What else a search is asked to heed."""

    rules: tuple[Rule, ...] = ()
    selection: Selection | None = None
    """The likeliest `beam`, if nothing else is asked for."""
    observer: SearchObserver | None = None
    early_stopping_sentences: frozenset[int] = frozenset()
    """Sentences whose living hypotheses may never be allowed to end: the first outputs that finish are enough."""


DEFAULT_STRATEGY = SearchStrategy()
"""Nothing else is asked for."""


def topk_selection(k: int) -> Selection:
    """The likeliest."""

    def choose(merits: Tensor, _: Beams) -> Tensor:
        every = merits.flatten(1)
        return every.topk(min(k, every.shape[1]), dim=1).indices

    return choose
