"""Settings of the search."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tongsa.config import In, NonNegative, NonNegativeFloat, Positive, check_ranges


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    beam: Positive = 4
    """Hypotheses kept side by side; 1 is greedy search."""
    length_normalization: Literal["gnmt", "plain", "none"] = "gnmt"
    """A total is divided by ((5 + length) / 6)^alpha; by length^alpha, with alpha 1 the mean of its pieces; or not."""
    alpha: NonNegativeFloat = 0.6
    """Strength of the length penalty: 0 compares plain log-probabilities and so favours short outputs."""
    coverage_penalty: NonNegativeFloat = 0.0
    """Strength of the coverage penalty: an output loses by source pieces that it has looked at too little."""
    max_extra_tokens: NonNegative = 50
    """An output may be this much longer than its source (section 6.1)."""
    min_tokens: NonNegative = 0
    """No output is shorter than this many pieces."""
    no_repeat_ngram: NonNegative = 0
    """No run of this many pieces comes twice in an output; 0 allows all."""
    repetition_penalty: Annotated[float, In(1)] = 1.0
    """Above 1, the log-probability of a piece that is there already is multiplied by this (Keskar et al. 2019, 4.1)."""
    beam_groups: Positive = 1
    """Parts of the beam that keep away from each other's pieces (Vijayakumar et al. 2018); their number divides it."""
    diversity_penalty: NonNegativeFloat = 0.5
    """How far they keep away: what a piece loses for each earlier group that takes it at the same place."""
    shortlist: bool = False
    """Only pieces that the list beside the model allows for a source are scored: faster, and not always the same."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.length_normalization not in ("gnmt", "plain", "none"):
            raise ValueError(f"length_normalization {self.length_normalization!r} is not gnmt, plain or none")
        if self.beam % self.beam_groups:
            raise ValueError(f"beam_groups {self.beam_groups} does not divide the beam {self.beam}")

    @property
    def supports_continuous_batching(self) -> bool:
        """Whether nothing but how likely an output is, and how long, has a say: then places may be refilled."""
        asked = (
            self.coverage_penalty,
            self.min_tokens,
            self.no_repeat_ngram,
            self.repetition_penalty - 1,
            self.beam_groups - 1,
            self.shortlist,
        )
        return not any(asked)

    def length_penalty(self, length: int) -> float:
        """What a total is divided by; the length counts </s> too."""
        base = {"gnmt": (5 + length) / 6, "plain": float(length), "none": 1.0}[self.length_normalization]
        return float(base**self.alpha)
