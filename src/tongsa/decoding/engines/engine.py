"""Who else may search: another program that runs the same model."""

from typing import Literal, Protocol

import torch

from tongsa.batch import Indices, Padded
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig

EngineName = Literal["auto", "torch", "ctranslate2"]
"""`auto` takes CTranslate2 where a run has been exported to it and is asked for what it can do, and torch otherwise."""

MAX_TOKENS_PER_CALL = 1 << 22
"""Places, padding included, that are handed over in one call."""


class Engine(Protocol):
    name: str

    def supports(self, source: Padded, config: DecodingConfig) -> bool:
        """Whether it can answer this as torch would."""
        ...

    def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """The best `nbest` hypotheses of each sentence, best first; nothing for one that is left to torch."""
        ...


def supports_all(engine: Engine, lengths: Indices, config: DecodingConfig) -> bool:
    """Whether it can be handed all texts of these lengths, longest first, at once: it makes batches of its own."""
    if not len(lengths) or len(lengths) * lengths[0] > MAX_TOKENS_PER_CALL:
        return False
    ends = torch.from_numpy(lengths[[0, -1]])
    return engine.supports(Padded(torch.empty(2, int(lengths[0])), ends), config)
