"""Who else may search: another program that runs the same model."""

from typing import Literal, Protocol

from tongsa.batch import Padded
from tongsa.decoding.search import Hypothesis, SearchConfig

EngineName = Literal["auto", "torch", "ctranslate2"]
"""`auto` takes CTranslate2 where a run has been exported to it and is asked for what it can do, and torch otherwise."""


class Engine(Protocol):
    name: str

    def supports(self, source: Padded, config: SearchConfig) -> bool:
        """Whether it can answer this as torch would."""
        ...

    def search(self, source: Padded, config: SearchConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """The best `nbest` hypotheses of each sentence, best first."""
        ...
