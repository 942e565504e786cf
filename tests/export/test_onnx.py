"""Both graphs give what torch gives, in ONNX Runtime, on other batches and lengths than they were made with."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from export.bundles import saved, shaken, told, transformer
from tiny import CONFIGS, kind_of, padded, sentence
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.export import export
from tongsa.export.onnx import leaves, rebuilt
from tongsa.text import BOS

TRANSLATING = [name for name, config in CONFIGS.items() if config.task == "pairs"]
FIRST = {kind_of(name): name for name in reversed(TRANSLATING)}
"""For each kind the plain one; its options take minutes together."""
names = [pytest.param(name, marks=[] if FIRST[kind_of(name)] == name else pytest.mark.slow) for name in TRANSLATING]
FILES = {"encoder.onnx", "step.onnx", "source.spm", "target.spm", "tongsa.json"}


class Runtime:
    """A folder and nothing else: what a program without torch does."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
            for name in ("encoder.onnx", "step.onnx")
        )
        self.told: dict[str, Any] = told(folder)

    def start(self, source: Padded) -> dict[str, Any]:
        found = self.encoder.run(None, {"source": source.pieces.numpy(), "lengths": source.lengths.numpy()})
        return dict(zip(self.told["state"], found, strict=True))

    def step(self, piece: Tensor, place: int, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        counted = {"place": np.array(place)} if self.told["counts"] else {}
        logits, *new = self.decoder.run(None, {"piece": piece.numpy()} | counted | state)
        return torch.from_numpy(logits), state | dict(zip(self.told["changing"], new, strict=True))


@torch.no_grad()
def distance(made: Bundle, runtime: Runtime, rows: list[list[int]], steps: int) -> float:
    """How far the two are apart at most, over every tensor of the state and the logits of every step."""
    source = padded(*rows)
    state, other = made.model.decoder.start(made.model.encoder(source)), runtime.start(source)
    piece, found = torch.full((len(rows),), BOS), []
    for place in range(steps + 1):
        ours = {name: leaf for name, leaf in leaves(state).items() if isinstance(leaf, Tensor)}
        assert other.keys() == ours.keys()
        assert [other[name].shape for name in ours] == [tuple(leaf.shape) for leaf in ours.values()]
        found += [
            (leaf - torch.from_numpy(other[name])).abs() for name, leaf in ours.items() if leaf.is_floating_point()
        ]
        if place < steps:
            logits, state = made.model.decoder.step(piece, state)
            theirs, other = runtime.step(piece, place, other)
            found.append((logits - theirs).abs())
            piece = logits[:, 4:].argmax(dim=1) + 4
    return max(float(one.max()) for one in found if one.numel())


@pytest.mark.parametrize("name", names)
def test_encoder_and_steps_are_those_of_torch(name: str, tmp_path: Path) -> None:
    made = shaken(kind_of(name), CONFIGS[name])
    folder = export(saved(tmp_path, made), "onnx")
    assert {file.name for file in folder.iterdir()} == FILES
    runtime = Runtime(folder)
    assert distance(made, runtime, [sentence(5), sentence(7), sentence(4)], 3) < 1e-4
    assert distance(made, runtime, [sentence(11, 1)], 6) < 1e-4, "alone, longer and further than the example"
    assert distance(made, runtime, [sentence(2), sentence(3), sentence(2, 1), sentence(2, 2)], 3) < 1e-4
    other = shaken(kind_of(name), CONFIGS[name], seed=2)
    assert distance(other, runtime, [sentence(5)], 3) > 1e-2, "other weights would not be noticed"


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_a_decoder_that_sees_one_place_or_two_begins_with_none(count: int, tmp_path: Path) -> None:
    made = transformer(neighbourhood=count)
    runtime = Runtime(export(saved(tmp_path, made), "onnx"))
    assert distance(made, runtime, [sentence(5), sentence(7)], 6) < 1e-4
    assert distance(made, runtime, [sentence(2)], 4) < 1e-4


@pytest.mark.parametrize("name", TRANSLATING)
def test_a_state_taken_apart_and_put_together_goes_on_alike(name: str) -> None:
    made = shaken(kind_of(name), CONFIGS[name])
    with torch.no_grad():
        state = made.model.decoder.start(made.model.encoder(padded(sentence(5), sentence(3))))
        expected, after = made.model.decoder.step(torch.tensor([5, 6]), state)
        found, again = made.model.decoder.step(torch.tensor([5, 6]), rebuilt(state, leaves(state)))
    assert torch.equal(found, expected)
    assert type(again) is type(after)
    assert leaves(again).keys() == leaves(after).keys()
