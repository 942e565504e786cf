"""Hypotheses of a running beam search, and the hooks that change how it continues: rules, selection, observer."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.topk import BeamStep
from tongsa.tokenization.special import BOS, PAD


class Beams(NamedTuple):
    """Unfinished hypotheses: the same number for each sentence that is still searched."""

    sentences: list[int]
    """Sentence index of each row."""
    log_probs: Tensor  # (sentence, hypothesis)
    ranking_scores: Tensor  # (sentence, hypothesis): log-probability after rules; -inf where there is no hypothesis
    tokens: Tensor  # (sentence, hypothesis, position), beginning with BOS
    token_log_probs: Tensor  # (sentence, hypothesis, position), 0 for BOS
    coverage: Tensor  # (sentence, hypothesis, slot)
    """Attention weights summed over the steps; no slots without a coverage penalty."""
    left_padding: list[int]
    """For each sentence: the number of steps before it joined the batch, which are padded positions."""

    @classmethod
    def initial(cls, sentences: range, device: torch.device) -> "Beams":
        """Return one hypothesis for each sentence: BOS."""
        zeros = torch.zeros(len(sentences), 1, device=device)
        bos = torch.full((len(sentences), 1, 1), BOS, device=device)
        return cls([*sentences], zeros, zeros, bos, zeros.unsqueeze(2), zeros[:, :, None][:, :, :0], [0] * len(zeros))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.sentences), self.log_probs.shape[1]

    @property
    def lengths(self) -> list[int]:
        """Number of tokens of each sentence's hypotheses, BOS included."""
        return [self.tokens.shape[2] - padding for padding in self.left_padding]

    def select(self, rows: list[int]) -> "Beams":
        """Keep the sentences in these rows."""
        if len(rows) == len(self.sentences):
            return self
        kept = torch.tensor(rows, dtype=torch.long, device=self.log_probs.device)
        log_probs, ranking_scores, tokens, token_log_probs, coverage = (
            part.index_select(0, kept) for part in self[1:6]
        )
        left_padding = [self.left_padding[row] for row in rows]
        unused = min(left_padding, default=0)  # positions that are padding in all remaining rows
        return Beams(
            [self.sentences[row] for row in rows],
            log_probs,
            ranking_scores,
            tokens[:, :, unused:],
            token_log_probs[:, :, unused:],
            coverage,
            [padding - unused for padding in left_padding],
        )

    def extend(self, coverage: Tensor, step: BeamStep) -> "Beams":
        """Return the selected hypotheses, each with one more token; `coverage` is the value after the step."""
        return Beams(
            self.sentences,
            gather_parents(self.log_probs, step.parent) + step.token_log_prob,
            step.ranking_score,
            torch.cat([gather_parents(self.tokens, step.parent), step.token.unsqueeze(2)], dim=2),
            torch.cat([gather_parents(self.token_log_probs, step.parent), step.token_log_prob.unsqueeze(2)], dim=2),
            gather_parents(coverage, step.parent),
            self.left_padding,
        )

    def concat(self, other: "Beams") -> "Beams":
        """Append sentences that join now; their tokens are aligned at the right."""
        length = self.tokens.shape[2]
        return Beams(
            [*self.sentences, *other.sentences],
            _concat_padded(self.log_probs, other.log_probs, 0.0),
            _concat_padded(self.ranking_scores, other.ranking_scores, -torch.inf),
            _concat_padded(self.tokens, other.tokens, PAD),
            _concat_padded(self.token_log_probs, other.token_log_probs, 0.0),
            _concat_padded(self.coverage, other.coverage, 0.0),
            [*self.left_padding, *(length - other_length for other_length in other.lengths)],
        )


def gather_parents(values: Tensor, parent: Tensor) -> Tensor:  # (sentence, rank, …)
    """Return the values (sentence, hypothesis, …) of the parents (sentence, rank)."""
    if values.shape[1] == parent.shape[1] == 1:  # the only hypothesis is the parent
        return values
    return values.gather(1, parent if values.dim() == 2 else parent.unsqueeze(2).expand(-1, -1, values.shape[2]))


def _concat_padded(first: Tensor, second: Tensor, fill_value: float) -> Tensor:  # (sentence, hypothesis, …)
    """Concatenate rows: hypotheses are padded at the right, positions at the left."""
    beam = max(first.shape[1], second.shape[1])
    joined = first.new_full((len(first) + len(second), beam, *first.shape[2:]), fill_value)
    joined[: len(first), : first.shape[1]] = first
    positions = (slice(first.shape[2] - second.shape[2], None),) if first.dim() > 2 else ()
    joined[(slice(len(first), None), slice(second.shape[1]), *positions)] = second
    return joined


Rule = Callable[[Tensor, Beams], Tensor]
"""Change the log-probabilities (sentence, hypothesis, token) of next tokens for the ranking; -inf forbids a token."""
Selection = Callable[[Tensor, Beams], Tensor]
"""Map ranking scores (sentence, hypothesis, token) to the flat indices (sentence, rank) of the selected candidates,
best first. It is called again without EOS if a selected candidate ends."""
SearchObserver = Callable[[Beams, Tensor, Tensor], None]
"""Called in each step with three arguments: the beams before it, the ranking scores of all candidates, and the flat
indices (sentence, rank) of the candidates that finished or continue."""


class SearchStrategy(NamedTuple):
    """Changes to plain beam search."""

    rules: tuple[Rule, ...] = ()
    selection: Selection | None = None
    """None selects the best `beam` candidates."""
    observer: SearchObserver | None = None


DEFAULT_STRATEGY = SearchStrategy()
"""Plain beam search."""


def topk_selection(k: int) -> Selection:
    """Select the k best candidates."""

    def select(ranking_scores: Tensor, _: Beams) -> Tensor:
        flat_scores = ranking_scores.flatten(1)
        return flat_scores.topk(min(k, flat_scores.shape[1]), dim=1).indices

    return select
