"""Who else may search: another program that runs the same model."""

from typing import Literal, Protocol

import torch

from tongsa.batch import Padded, Rows
from tongsa.decoding.search import Hypothesis, SearchConfig

EngineName = Literal["auto", "torch", "ctranslate2"]
"""`auto` takes CTranslate2 where a run has been exported to it and is asked for what it can do, and torch otherwise."""

AT_ONCE = 1 << 22
"""Places, padding included, that are handed over in one call."""


class Engine(Protocol):
    name: str

    def supports(self, source: Padded, config: SearchConfig) -> bool:
        """Whether it can answer this as torch would."""
        ...

    def search(self, source: Padded, config: SearchConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """The best `nbest` hypotheses of each sentence, best first; nothing for one that is left to torch."""
        ...


def takes_all(engine: Engine, lengths: Rows, config: SearchConfig) -> bool:
    """Whether it can be handed all texts of these lengths, longest first, at once: it makes batches of its own."""
    if not len(lengths) or len(lengths) * lengths[0] > AT_ONCE:
        return False
    ends = torch.from_numpy(lengths[[0, -1]])
    return engine.supports(Padded(torch.empty(2, int(lengths[0])), ends), config)
