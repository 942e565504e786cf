"""COMET (Rei et al. 2020), a learned metric, by the package `unbabel-comet` and a downloaded checkpoint.

The package is not a dependency: it brings a language model of its own and fixes the versions of many packages.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tongsa.errors import InputError
from tongsa.evaluation.metric_statistics import MetricStatistics, mean_statistics

BATCH_SIZE = 16


class CometModel(NamedTuple):
    """A loaded checkpoint."""

    name: str
    predict: Callable[..., Any]
    """From samples (`src`, `mt`, `ref`), `batch_size` and `gpus` to an object with `scores`, one per sample."""


def load_comet(path: str) -> CometModel:
    """Load a checkpoint; raise InputError if the package or the file is missing."""
    try:
        from comet import load_from_checkpoint
    except ImportError:
        raise InputError(
            f"--comet-model {path}: the package unbabel-comet is not installed. Run: pip install unbabel-comet"
        ) from None
    file = Path(path).resolve()
    if not file.is_file():
        raise InputError(
            f"--comet-model {path}: no such file. Give the checkpoint of a downloaded model (checkpoints/model.ckpt)."
        )
    name = file.parent.parent.name if file.parent.name == "checkpoints" else file.stem
    return CometModel(name, load_from_checkpoint(str(file)).predict)


def comet_statistics(
    model: CometModel, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
) -> MetricStatistics:
    """Return the scores of the sentences, times 100; COMET of a test set is their mean."""
    samples = [
        {"src": source, "mt": output, "ref": reference}
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    scores = model.predict(samples, batch_size=BATCH_SIZE, gpus=0).scores
    return mean_statistics("comet", f"comet|model:{model.name}|scale:100", [100 * score for score in scores])
