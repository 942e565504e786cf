"""COMET: the messages without the package or the file, and the statistics of its scores."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tongsa.errors import InputError
from tongsa.evaluation.comet import comet_statistics, load_comet


def predict(samples: list[dict[str, str]], batch_size: int, gpus: int) -> SimpleNamespace:
    """Score as the package would: a float per sample."""
    return SimpleNamespace(scores=[float(sample["mt"] == sample["ref"]) / 2 for sample in samples])


def test_without_the_package_the_message_says_how_to_install_it() -> None:
    with pytest.raises(InputError, match="the package unbabel-comet is not installed"):
        load_comet("model.ckpt")


def test_a_checkpoint_is_loaded_by_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package is not installed here: this module has only its documented interface."""
    package: Any = ModuleType("comet")
    package.load_from_checkpoint = lambda path: SimpleNamespace(predict=predict, path=path)
    monkeypatch.setitem(sys.modules, "comet", package)
    with pytest.raises(InputError, match="no such file"):
        load_comet(str(tmp_path / "model.ckpt"))
    checkpoint = tmp_path / "wmt22-comet-da/checkpoints/model.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    statistics = comet_statistics(load_comet(str(checkpoint)), ["s", "t"], ["a", "b"], ["a", "c"])
    assert statistics.value() == 25
    assert statistics.signature == "comet|model:wmt22-comet-da|scale:100"
    assert not statistics.lower_is_better
