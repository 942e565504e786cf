"""Sequence-to-sequence models of your own.

>>> import tongsa
>>> translator = tongsa.load("runs/demo")
>>> translator("I go home").text
'나는 집에 간다'
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongsa.decoding.translator import Translator

__version__ = "0.1.0"


def load(path: str | Path) -> "Translator":
    """The model of a run or bundle, ready to translate."""
    from tongsa import bundle

    return bundle.load(Path(path)).translator()


def train(
    recipe: str | Path | None = None,
    *,
    run: str | Path,
    pairs: "Sequence[str | Path] | str | Path" = (),
    dev: "Sequence[str | Path] | str | Path" = (),
    settings: "Sequence[str]" = (),
    budget: str | None = None,
) -> "Translator":
    """Train as `tongsa train` does, and load the result. `settings` are what `--set` takes: "training.steps=1000"."""
    from tongsa import experiment

    experiment.train(recipe, run=Path(run), pairs=pairs, dev=dev, settings=settings, budget=budget)
    return load(run)
