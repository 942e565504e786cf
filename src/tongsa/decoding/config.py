"""Decoding settings: the table [decoding] of a recipe."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tongsa.config import MAX_FACTOR, AtMost, BeamWidth, In, OptionalPositionCount, Penalty, check_ranges

MAX_ALPHA = 10
"""Largest exponent of the length penalty: with more, the penalty of a long output would overflow."""


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    """Settings of decoding: how a text is split, and of beam search."""

    split_sentences: bool = True
    """Translate the sentences of a text one by one; false if each text is one sentence."""

    copy_unseen_words: bool = False
    """Copy words that the training data do not have, if they look like those that it copies, such as names."""
    beam: BeamWidth = 4
    """Number of hypotheses kept in each step; 1 is greedy search."""
    length_normalization: Literal["gnmt", "plain", "none"] = "gnmt"
    """Length penalty: ((5 + length) / 6)^alpha, length^alpha, or none. The log-probability is divided by it."""
    alpha: Annotated[float, In(0), AtMost(MAX_ALPHA)] = 0.6
    """Strength of the length penalty: 0 compares plain log-probabilities, which prefers short outputs."""
    coverage_penalty: Penalty = 0.0
    """Strength of the coverage penalty: outputs that attend too little to some source tokens score lower."""
    max_extra_tokens: OptionalPositionCount = 50
    """An output may have this many tokens more than its source (Vaswani et al. 2017, section 6.1)."""
    min_tokens: OptionalPositionCount = 0
    """Smallest number of tokens of an output."""
    no_repeat_ngram: OptionalPositionCount = 0
    """No n-gram of this size may occur twice in an output; 0 allows all."""
    repetition_penalty: Annotated[float, In(1), AtMost(MAX_FACTOR)] = 1.0
    """Factor on the log-probability of tokens that the output already contains (Keskar et al. 2019, section 4.1)."""
    beam_groups: BeamWidth = 1
    """Groups of a diverse beam (Vijayakumar et al. 2018); the beam must be a multiple of it."""
    diversity_penalty: Penalty = 0.5
    """Subtracted from the score of a token for each earlier group that selected it in the same step."""
    max_term_cost: Penalty = 20.0
    """A glossary term is left out if it lowers the log-probability of the translation by more than this (nats)."""
    shortlist: bool = False
    """Score only the tokens of the model's shortlist: faster, but the output may differ."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.length_normalization not in ("gnmt", "plain", "none"):
            raise ValueError(f"length_normalization {self.length_normalization!r}: unknown. Write gnmt, plain or none.")
        if self.beam % self.beam_groups:
            raise ValueError(
                f"beam_groups {self.beam_groups}: does not divide the beam {self.beam}. Change one of them."
            )

    @property
    def supports_continuous_batching(self) -> bool:
        """True for plain beam search: rules and coverage do not know when a sentence joined the batch."""
        return not (
            self.coverage_penalty
            or self.min_tokens
            or self.no_repeat_ngram
            or self.repetition_penalty > 1
            or self.beam_groups > 1
            or self.shortlist
        )

    def length_penalty(self, length: int) -> float:
        """Return the divisor of the log-probability of an output; `length` counts EOS."""
        base = {"gnmt": (5 + length) / 6, "plain": float(length), "none": 1.0}[self.length_normalization]
        return float(base**self.alpha)
