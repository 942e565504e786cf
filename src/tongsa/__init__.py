"""tongsa: train, inspect and serve sequence-to-sequence models.

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
    """Import `tongsa.view` on first use, so that `import tongsa` stays fast."""
    if name == "view":
        from tongsa.visualize.panels import view

        return view
    raise AttributeError(f"module 'tongsa' has no attribute {name!r}")


def load(path: str | Path, *, engine: "EngineName" = "auto") -> Any:
    """Load a trained model: return a Translator, TextClassifier or TextGenerator, by its task.

    path: folder of a run or of a bundle. InputError is raised if it holds no model.
    engine: decoding engine of a Translator: "torch", "ctranslate2", or "auto", which takes CTranslate2 if the model was
        exported for it.
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
    """Train a model as `tongsa train` does, and return it as `load` does.

    recipe: TOML file with the settings. Without it, a preset is chosen by the data and the budget.
    run: new folder for the run.
    data: training data instead of the recipe's: a file of pairs, or two parallel files.
    dev: development data instead of the recipe's.
    settings: single settings as for `--set`, for example ["training.steps=1000"].
    budget: time limit such as "30m"; the number of steps is chosen to fit.
    """
    from tongsa import runs

    runs.train(recipe, run=Path(run), data=data, dev=dev, settings=settings, budget=budget)
    return load(run)
