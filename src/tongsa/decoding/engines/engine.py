"""The engine interface: an engine runs beam search on a batch."""

from typing import Protocol

import torch

from tongsa.batch import Indices, Padded
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig

MAX_TOKENS_PER_CALL = 1 << 22
"""Largest padded size of one call of an engine that makes batches itself."""


class Engine(Protocol):
    """Beam search without constraints, sampling or observer; only engines/torch.py supports these."""

    name: str

    def supports(self, source: Padded, config: DecodingConfig) -> bool:
        """Return whether this engine gives the same results as torch for this batch and these settings.

        With a shortlist, the score of a greedy output that ends at its maximum length may be over the whole vocabulary.
        """
        ...

    def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """Return the best `nbest` hypotheses of each sentence, best first; torch searches again for a shorter list."""
        ...


def supports_all(engine: Engine, lengths: Indices, config: DecodingConfig) -> bool:
    """Return whether an engine can take all texts of these lengths, longest first, in one call."""
    if not len(lengths) or len(lengths) * lengths[0] > MAX_TOKENS_PER_CALL:
        return False
    longest_and_shortest = torch.from_numpy(lengths[[0, -1]])
    return engine.supports(Padded(torch.empty(2, int(lengths[0])), longest_and_shortest), config)
