"""COMET without its package: messages, and the statistics of its scores. test_comet_package.py runs the package."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from tongsa.errors import InputError
from tongsa.evaluation.comet import comet_statistics, load_comet


def predict(samples: list[dict[str, str]], batch_size: int, gpus: int, progress_bar: bool) -> SimpleNamespace:
    """Score as the package would: a float per sample."""
    return SimpleNamespace(scores=[float(sample["mt"] == sample["ref"]) / 2 for sample in samples])


def test_without_the_package_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)  # as if it were not installed
    with pytest.raises(InputError, match=r'unbabel-comet is not installed. Run: pip install unbabel-comet "setuptools'):
        load_comet("model.ckpt")


def test_another_package_of_this_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", ModuleType("comet"))
    with pytest.raises(InputError, match="unbabel-comet cannot be imported: cannot import name"):
        load_comet("model.ckpt")


def test_a_checkpoint_is_loaded_by_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This module has only the interface of the package that is used."""
    package: Any = ModuleType("comet")
    package.__version__ = "2.2.7"
    model = SimpleNamespace(predict=predict, named_parameters=lambda: [("w", None)])
    package.load_from_checkpoint = lambda *_, **__: model
    monkeypatch.setitem(sys.modules, "comet", package)
    checkpoint = tmp_path / "wmt22-comet-da/checkpoints/model.ckpt"
    checkpoint.parent.mkdir(parents=True)
    (tmp_path / "wmt22-comet-da/hparams.yaml").write_text("class_identifier: regression_metric\n", "utf-8")
    torch.save({"state_dict": {"w": torch.zeros(1)}, "hyper_parameters": {}}, checkpoint)
    statistics = comet_statistics(load_comet(str(checkpoint)), ["s", "t"], ["a", "b"], ["a", "c"])
    assert statistics.value() == 25
    assert statistics.signature == "comet|model:wmt22-comet-da|version:2.2.7|scale:100"
    assert not statistics.lower_is_better
