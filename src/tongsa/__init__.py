"""Sequence-to-sequence models of your own.

>>> import tongsa
>>> translator = tongsa.load("runs/demo")
>>> translator("I go home").text
'나는 집에 간다'
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongsa.decoding.engines.engine import EngineName
    from tongsa.visualize.panels import view as view

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load `tongsa.view` on first use."""
    if name == "view":
        from tongsa.visualize.panels import view

        return view
    raise AttributeError(f"module 'tongsa' has no attribute {name!r}")


def load(path: str | Path, *, engine: "EngineName" = "auto") -> Any:
    """The model of a run or bundle: a Translator, a Classifier or a Writer, by what it has learnt.

    `engine` says who searches for a Translator: "torch", "ctranslate2", or "auto", the faster one that can.
    """
    from tongsa import bundle

    loaded = bundle.load_bundle(Path(path))
    return loaded.translator(engine=engine) if loaded.config.task == "seq2seq" else loaded.text_model()


def train(
    recipe: str | Path | None = None,
    *,
    run: str | Path,
    data: "Sequence[str | Path] | str | Path" = (),
    dev: "Sequence[str | Path] | str | Path" = (),
    settings: "Sequence[str]" = (),
    budget: str | None = None,
) -> Any:
    """Train as `tongsa train` does, and load the result. `settings` are what `--set` takes: "training.steps=1000"."""
    from tongsa import runs

    runs.train(recipe, run=Path(run), data=data, dev=dev, settings=settings, budget=budget)
    return load(run)
