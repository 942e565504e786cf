"""All graphs give what torch gives, in ONNX Runtime, on other batches and lengths than they were made with."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from export.bundles import LABELS, saved, shaken, told, transformer
from tiny import CONFIGS, kind_of, padded, sentence
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.export import export
from tongsa.export.onnx import flatten_state, unflatten_state
from tongsa.tokenization.special import BOS

WRITING = [name for name, config in CONFIGS.items() if config.task != "classification"]
CLASSIFYING = [name for name, config in CONFIGS.items() if config.task == "classification"]


def plain_first(names: list[str]) -> list[Any]:
    """For each kind the plain one; its options take minutes together."""
    first = {kind_of(name): name for name in reversed(names)}.values()
    return [pytest.param(name, marks=[] if name in first else pytest.mark.slow) for name in names]


def session(file: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def fed(source: Padded) -> dict[str, Any]:
    return {"source": source.tokens.numpy(), "lengths": source.lengths.numpy()}


class Runtime:
    """A folder and nothing else: what a program without torch does, whether the model translates or writes."""

    def __init__(self, folder: Path) -> None:
        self.encoder, self.decoder = session(folder / "encoder.onnx"), session(folder / "step.onnx")
        self.told: dict[str, Any] = told(folder)

    def start(self, source: Padded) -> dict[str, Any]:
        return dict(zip(self.told["state"], self.encoder.run(None, fed(source)), strict=True))

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
        ours = {name: leaf for name, leaf in flatten_state(state).items() if isinstance(leaf, Tensor)}
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


@pytest.mark.parametrize("name", plain_first(WRITING))
def test_encoder_and_steps_are_those_of_torch(name: str, tmp_path: Path) -> None:
    made = shaken(kind_of(name), CONFIGS[name])
    folder = export(saved(tmp_path, made), "onnx")
    assert {file.name for file in folder.iterdir()} == {
        "encoder.onnx",
        "step.onnx",
        "source.spm",
        "target.spm",
        "tongsa.json",
    }
    runtime = Runtime(folder)
    assert distance(made, runtime, [sentence(5), sentence(7), sentence(4)], 3) < 1e-4
    assert distance(made, runtime, [sentence(11, 1)], 6) < 1e-4, "alone, longer and further than the example"
    assert distance(made, runtime, [sentence(2), sentence(3), sentence(2, 1), sentence(2, 2)], 3) < 1e-4
    other = shaken(kind_of(name), CONFIGS[name], seed=2)
    assert distance(other, runtime, [sentence(5)], 3) > 1e-2, "other weights would not be noticed"


@pytest.mark.parametrize("name", plain_first(CLASSIFYING))
def test_labels_are_weighed_as_torch_weighs_them(name: str, tmp_path: Path) -> None:
    made, other = (shaken(kind_of(name), CONFIGS[name], target=LABELS, seed=seed) for seed in (1, 2))
    folder = export(saved(tmp_path, made), "onnx")
    assert {file.name for file in folder.iterdir()} == {"classifier.onnx", "source.spm", "tongsa.json"}
    assert told(folder)["labels"] == LABELS.labels
    graph = session(folder / "classifier.onnx")
    for lengths in ([5, 7, 4], [11], [2, 3, 2, 2], [1, 1]):
        source = padded(*(sentence(length, at) for at, length in enumerate(lengths)))
        (found,) = graph.run(None, fed(source))
        ours, theirs = (weighed(bundle, source) for bundle in (made, other))
        assert torch.from_numpy(found).sub(ours).abs().max() < 1e-4, lengths
        assert torch.from_numpy(found).sub(theirs).abs().max() > 1e-2, "other weights would not be noticed"


@torch.no_grad()
def weighed(made: Bundle, source: Padded) -> Tensor:  # (batch, label)
    logits: Tensor = made.model(source, padded(*([BOS] for _ in source.lengths)))
    return logits[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_a_decoder_that_sees_one_place_or_two_begins_with_none(count: int, tmp_path: Path) -> None:
    made = transformer(neighbourhood=count)
    runtime = Runtime(export(saved(tmp_path, made), "onnx"))
    assert distance(made, runtime, [sentence(5), sentence(7)], 6) < 1e-4
    assert distance(made, runtime, [sentence(2)], 4) < 1e-4


@pytest.mark.parametrize("name", WRITING)
def test_a_state_taken_apart_and_put_together_goes_on_alike(name: str) -> None:
    made = shaken(kind_of(name), CONFIGS[name])
    with torch.no_grad():
        state = made.model.decoder.start(made.model.encoder(padded(sentence(5), sentence(3))))
        expected, after = made.model.decoder.step(torch.tensor([5, 6]), state)
        found, again = made.model.decoder.step(torch.tensor([5, 6]), unflatten_state(state, flatten_state(state)))
    assert torch.equal(found, expected)
    assert type(again) is type(after)
    assert flatten_state(again).keys() == flatten_state(after).keys()
