"""From a decoding request to the arguments of `beam_search`, and from its hypotheses to n-best lists.

`beam_search` runs one beam for each row of the batch. Two features use several rows for each sentence. Diverse beam
search runs each of its groups as a row. Sampling runs each sample as a row of beam 1. The plan repeats the rows
before the search and merges the hypotheses of each sentence afterwards.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import torch
from torch import Tensor

from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.beams import Rule, SearchStrategy, Selection, topk_selection
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import OutputConstraints
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.rules import (
    diverse_beam_selection,
    forbidden_phrases,
    forced_prefix,
    rules_from_config,
    sampling_selection,
    word_end,
)
from tongsa.decoding.sampling import Sampler
from tongsa.interface import S


class SearchPlan:
    """Arguments of one call of `beam_search`: config, nbest, max_lengths and strategy."""

    def __init__(
        self,
        request: DecodeRequest,
        max_lengths: Tensor,  # (sentence,)
        constraints: Sequence[OutputConstraints] = (),
        sampler: Sampler | None = None,
        continues_word: Collection[int] = (),
    ) -> None:
        """`constraints` has an entry for each sentence, or none; `sampler` draws outputs instead of searching.

        `continues_word` are the tokens that cannot follow a prefix which ends a word.
        """
        self.requested_nbest, self.sampling = request.nbest, sampler is not None
        self.copies = request.nbest if sampler else request.config.beam_groups
        beam = 1 if sampler else request.config.beam // request.config.beam_groups
        self.rows = torch.arange(len(max_lengths), device=max_lengths.device).repeat_interleave(self.copies)
        self.max_lengths = max_lengths[self.rows]  # (row,)
        self.config = replace(request.config, beam=beam, beam_groups=1)
        self.nbest = min(request.nbest, beam)
        repeated = [constraint for constraint in constraints for _ in range(self.copies)]
        self.strategy = SearchStrategy(
            (*rules_from_config(request.config), *_constraint_rules(repeated, continues_word)),
            sampling_selection(sampler) if sampler else self._selection(request.config),
            request.observer,
        )

    def _selection(self, config: DecodingConfig) -> Selection | None:
        if config.beam_groups == 1:
            return None
        return diverse_beam_selection(topk_selection(self.config.beam), config.beam_groups, config.diversity_penalty)

    def expand(self, state: S) -> S:
        """Return a decoder state with `copies` rows for each sentence."""
        return state.select(self.rows) if self.copies > 1 else state

    def merge(self, hypotheses: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """Return one n-best list for each sentence, best first; equal outputs of two groups are merged."""
        if self.copies == 1:
            return hypotheses
        merged = []
        for start in range(0, len(hypotheses), self.copies):
            rows = hypotheses[start : start + self.copies]
            ranked = sorted(chain.from_iterable(rows), key=lambda hypothesis: -hypothesis.score)
            if not self.sampling:  # equal samples are kept
                unique = {tuple(hypothesis.tokens): hypothesis for hypothesis in reversed(ranked)}
                ranked = sorted(unique.values(), key=lambda hypothesis: -hypothesis.score)[: self.requested_nbest]
            merged.append(ranked)
        return merged


def _constraint_rules(constraints: Sequence[OutputConstraints], continues_word: Collection[int]) -> list[Rule]:
    rules: list[Rule] = []
    lengths = [len(constraint.prefix) for constraint in constraints]
    if any(lengths):
        rules.append(forced_prefix([constraint.prefix for constraint in constraints]))
    ends_word = [constraint.prefix_ends_word for constraint in constraints]
    if any(ends_word):
        positions = [length if ends else -1 for length, ends in zip(lengths, ends_word, strict=True)]
        rules.append(word_end(positions, sorted(continues_word)))
    if any(constraint.forbidden for constraint in constraints):
        rules.append(forbidden_phrases([constraint.forbidden for constraint in constraints], lengths))
    return rules


def explain_no_output(
    config: DecodingConfig, constraints: Sequence[OutputConstraints], max_lengths: Mapping[int, int]
) -> str:
    """Return an error message for a search that ended without any output.

    Either its rules exclude every output, or the model's scores are NaN. `max_lengths` maps the index of
    each text of the batch to the maximum length of its output.
    """
    constrained = [constraints[i] for i in max_lengths] if constraints else []
    excess = [len(constraint.prefix) - max_lengths[i] for i, constraint in zip(max_lengths, constrained, strict=False)]
    shortest = min(max_lengths.values())
    missing = max(config.min_tokens - shortest, *excess, 0)
    enough = max(200, config.max_extra_tokens + missing)
    remedy = f"raise max_extra_tokens (--set decoding.max_extra_tokens={enough})"
    if any(tokens > 0 for tokens in excess):
        return f"prefix: longer than the translation of a text may be. Shorten it, or {remedy}."
    if config.min_tokens > shortest:
        return (
            f"min_tokens {config.min_tokens}: the translation of a text here has at most {shortest} tokens. "
            f"Lower it, or {remedy}."
        )
    if config.no_repeat_ngram and any(constrained):
        return (
            f"no_repeat_ngram {config.no_repeat_ngram}: no output satisfies it together with the prefix. "
            "Raise it, or set it to 0."
        )
    return "model: its scores are NaN. Train again with a lower learning rate (training.lr.peak or training.lr.scale)."
