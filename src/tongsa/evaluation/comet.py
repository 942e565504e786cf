"""COMET (Rei et al. 2020), a learned metric, by the package `unbabel-comet` and a downloaded checkpoint.

The package is not a dependency: it brings a language model of its own and fixes the versions of many packages.

A checkpoint is a pickle. It is first read with torch's restricted unpickler (`weights_only`), which refuses everything
but tensors and plain values; only a file that passes is given to the package, whose own reader depends on the version
of PyTorch Lightning.
"""

import logging
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tongsa.errors import InputError
from tongsa.evaluation.metric_statistics import MetricStatistics, mean_statistics

BATCH_SIZE = 16
INSTALL = 'Run: pip install unbabel-comet "setuptools<82" (in an environment of its own: docs/guide.md)'
"""The package needs `pkg_resources`, which setuptools 82 has removed, and does not say so."""


class CometModel(NamedTuple):
    """A loaded checkpoint."""

    name: str
    version: str
    """Version of the package."""
    predict: Callable[..., Any]
    """From samples (`src`, `mt`, `ref`), `batch_size`, `gpus` and `progress_bar` to an object with a score of each."""


def load_comet(path: str) -> CometModel:
    """Load a checkpoint; raise InputError if something is missing, or if the file has more than weights."""
    package = _import_package(path)
    file = Path(path).absolute()  # symbolic links are kept: in the cache of Hugging Face the file itself is elsewhere
    checkpoint = _read_weights_only(path, file)
    model = _load_model(path, file, package, str(checkpoint["hyper_parameters"].get("pretrained_model")))
    missing = {name for name, _ in model.named_parameters()} - checkpoint["state_dict"].keys()
    if missing:  # the package leaves them at random values
        raise InputError(f"--comet-model {path}: it has no weights of {min(missing)}. Download the model again.")
    return CometModel(_model_name(file), package.__version__, model.predict)


def comet_statistics(
    model: CometModel, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
) -> MetricStatistics:
    """Return the scores of the sentences, times 100; COMET of a test set is their mean."""
    samples = [
        {"src": source, "mt": output, "ref": reference}
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    with _quiet(), _interruptible():
        scores = model.predict(samples, batch_size=BATCH_SIZE, gpus=0, progress_bar=sys.stderr.isatty()).scores
    signature = f"comet|model:{model.name}|version:{model.version}|scale:100"
    return mean_statistics("comet", signature, [100 * score for score in scores])


def _import_package(path: str) -> Any:
    try:
        with _quiet():
            import comet
            from comet import load_from_checkpoint  # noqa: F401 - another package may have the name `comet`
    except ImportError as error:
        if error.name == "comet" and isinstance(error, ModuleNotFoundError):
            raise InputError(f"--comet-model {path}: the package unbabel-comet is not installed. {INSTALL}") from None
        raise InputError(
            f"--comet-model {path}: the package unbabel-comet cannot be imported: {error}. {INSTALL}"
        ) from error
    return comet


def _read_weights_only(path: str, file: Path) -> dict[str, Any]:
    """Return the content of a checkpoint; raise InputError if it has more than tensors and plain values."""
    if not file.is_file():
        raise InputError(
            f"--comet-model {path}: {'a folder' if file.is_dir() else 'no such file'}. "
            "Give the checkpoint of a downloaded model (checkpoints/model.ckpt)."
        )
    try:
        checkpoint: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        checkpoint["state_dict"].keys(), checkpoint["hyper_parameters"].keys()
    except pickle.UnpicklingError:
        raise InputError(
            f"--comet-model {path}: it contains Python objects besides weights, which could run code, so it is not "
            "loaded. Use a checkpoint of weights alone (docs/guide.md)."
        ) from None
    except Exception as error:  # a damaged or another file raises almost any error
        raise InputError(
            f"--comet-model {path}: not a checkpoint of PyTorch Lightning, or damaged ({_first_line(error)}). "
            "Give the checkpoint of a downloaded model (checkpoints/model.ckpt)."
        ) from error
    return checkpoint


def _load_model(path: str, file: Path, package: Any, encoder: str) -> Any:
    """Let the package load a checkpoint, without the network."""
    if not (file.parent.parent / "hparams.yaml").is_file():
        raise InputError(
            f"--comet-model {path}: no hparams.yaml in {file.parent.parent}. "
            "Download the whole model, not the checkpoint alone."
        )
    with _quiet():
        try:
            return package.load_from_checkpoint(str(file), local_files_only=True)
        except Exception as error:
            _check_encoder(path, encoder)
            raise InputError(
                f"--comet-model {path}: unbabel-comet {package.__version__} cannot load it ({_first_line(error)}). "
                "Give the checkpoint of a COMET model."
            ) from error


def _check_encoder(path: str, encoder: str) -> None:
    """Raise InputError if the settings of an encoder are not on this machine."""
    from huggingface_hub import hf_hub_download

    try:
        Path(encoder).is_dir() or hf_hub_download(encoder, "config.json", local_files_only=True)
    except (OSError, ValueError):
        raise InputError(
            f"--comet-model {path}: its encoder, {encoder}, is not on this machine. Restore its folder, or run: "
            f"hf download {encoder} --include '*.json' '*.model'"
        ) from None


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _model_name(file: Path) -> str:
    """Return the name of the model's folder; in the cache of Hugging Face that of the repository."""
    folder = file.parent.parent
    if folder.parent.name == "snapshots":  # models--Unbabel--wmt22-comet-da/snapshots/REVISION
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings, remarks and advertisements of the package and of those it uses, but no errors."""
    disabled = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(max(disabled, logging.WARNING))
        try:
            yield
        finally:
            logging.disable(disabled)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt: PyTorch Lightning turns it into exit code 1 and ignores it from then on."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as ended:
        if not isinstance(ended.__context__, KeyboardInterrupt):
            raise
        signal.signal(signal.SIGINT, handler)
        raise KeyboardInterrupt from None
