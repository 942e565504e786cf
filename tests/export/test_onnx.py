"""ONNX Runtime gives the results of torch, also for other batch sizes and lengths than those of the export."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from export.bundles import LABELS, random_bundle, read_metadata, save_run, transformer
from tiny import CONFIGS, kind_of, padded_batch, sentence
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.export import export
from tongsa.export.onnx import flatten_state, unflatten_state
from tongsa.tokenization.special import BOS

GENERATORS = [name for name, config in CONFIGS.items() if config.task != "classification"]
CLASSIFIERS = [name for name, config in CONFIGS.items() if config.task == "classification"]


QUICK = ("rnn_attention", "transformer", "structured_self_attention")


def quick_or_slow(names: list[str]) -> list[Any]:
    """Return all names as parameters; an RNN, a Transformer and a classifier are quick, the others take minutes."""
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in names]


def onnx_session(file: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def source_inputs(source: Padded) -> dict[str, Any]:
    return {"source": source.tokens.numpy(), "lengths": source.lengths.numpy()}


class ONNXModel:
    """An exported seq2seq or language model in ONNX Runtime, used as a program without torch would."""

    def __init__(self, folder: Path) -> None:
        self.encoder, self.decoder = onnx_session(folder / "encoder.onnx"), onnx_session(folder / "step.onnx")
        self.metadata: dict[str, Any] = read_metadata(folder)

    def start(self, source: Padded) -> dict[str, Any]:
        return dict(zip(self.metadata["state"], self.encoder.run(None, source_inputs(source)), strict=True))

    def step(self, token: Tensor, position: int, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        counter = {"position": np.array(position)} if self.metadata["counters"] else {}
        logits, *updated = self.decoder.run(None, {"token": token.numpy()} | counter | state)
        return torch.from_numpy(logits), state | dict(zip(self.metadata["updated"], updated, strict=True))


@torch.no_grad()
def max_difference(bundle: Bundle, onnx_model: ONNXModel, rows: list[list[int]], steps: int) -> float:
    """Return the largest difference over all tensors of the state and the logits of all steps."""
    source = padded_batch(*rows)
    state, onnx_state = bundle.model.decoder.start(bundle.model.encoder(source)), onnx_model.start(source)
    token, differences = torch.full((len(rows),), BOS), []
    for position in range(steps + 1):
        tensors = {name: leaf for name, leaf in flatten_state(state).items() if isinstance(leaf, Tensor)}
        assert onnx_state.keys() == tensors.keys()
        assert [onnx_state[name].shape for name in tensors] == [tuple(leaf.shape) for leaf in tensors.values()]
        differences += [
            (leaf - torch.from_numpy(onnx_state[name])).abs()
            for name, leaf in tensors.items()
            if leaf.is_floating_point()
        ]
        if position < steps:
            logits, state = bundle.model.decoder.step(token, state)
            onnx_logits, onnx_state = onnx_model.step(token, position, onnx_state)
            differences.append((logits - onnx_logits).abs())
            token = logits[:, 4:].argmax(dim=1) + 4
    return max(float(difference.max()) for difference in differences if difference.numel())


@pytest.mark.parametrize("name", quick_or_slow(GENERATORS))
def test_encoder_and_steps_equal_those_of_torch(name: str, tmp_path: Path) -> None:
    bundle = random_bundle(kind_of(name), CONFIGS[name])
    folder = export(save_run(tmp_path, bundle), "onnx")
    assert {file.name for file in folder.iterdir()} == {
        "encoder.onnx",
        "step.onnx",
        "source.spm",
        "target.spm",
        "tongsa.json",
    }
    onnx_model = ONNXModel(folder)
    assert max_difference(bundle, onnx_model, [sentence(5), sentence(7), sentence(4)], 3) < 1e-4
    assert max_difference(bundle, onnx_model, [sentence(11, 1)], 6) < 1e-4, (
        "a single sentence, longer and with more steps than the example"
    )
    assert max_difference(bundle, onnx_model, [sentence(2), sentence(3), sentence(2, 1), sentence(2, 2)], 3) < 1e-4
    other = random_bundle(kind_of(name), CONFIGS[name], seed=2)
    assert max_difference(other, onnx_model, [sentence(5)], 3) > 1e-2, "other weights must be detected"


@pytest.mark.parametrize("name", quick_or_slow(CLASSIFIERS))
def test_classifier_logits_equal_those_of_torch(name: str, tmp_path: Path) -> None:
    exported, other = (random_bundle(kind_of(name), CONFIGS[name], target=LABELS, seed=seed) for seed in (1, 2))
    folder = export(save_run(tmp_path, exported), "onnx")
    assert {file.name for file in folder.iterdir()} == {"classifier.onnx", "source.spm", "tongsa.json"}
    assert read_metadata(folder)["labels"] == LABELS.labels
    graph = onnx_session(folder / "classifier.onnx")
    for lengths in ([5, 7, 4], [11], [2, 3, 2, 2], [1, 1]):
        source = padded_batch(*(sentence(length, seed) for seed, length in enumerate(lengths)))
        (logits,) = graph.run(None, source_inputs(source))
        expected, unexpected = (classifier_logits(bundle, source) for bundle in (exported, other))
        assert torch.from_numpy(logits).sub(expected).abs().max() < 1e-4, lengths
        assert torch.from_numpy(logits).sub(unexpected).abs().max() > 1e-2, "other weights must be detected"


@torch.no_grad()
def classifier_logits(bundle: Bundle, source: Padded) -> Tensor:  # (batch, label)
    logits: Tensor = bundle.model(source, padded_batch(*([BOS] for _ in source.lengths)))
    return logits[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_attention_windows_of_one_or_two_start_with_an_empty_cache(count: int, tmp_path: Path) -> None:
    bundle = transformer(attention_window=count)
    onnx_model = ONNXModel(export(save_run(tmp_path, bundle), "onnx"))
    assert max_difference(bundle, onnx_model, [sentence(5), sentence(7)], 6) < 1e-4
    assert max_difference(bundle, onnx_model, [sentence(2)], 4) < 1e-4


@pytest.mark.parametrize("name", GENERATORS)
def test_flattened_state_is_restored(name: str) -> None:
    bundle = random_bundle(kind_of(name), CONFIGS[name])
    with torch.no_grad():
        state = bundle.model.decoder.start(bundle.model.encoder(padded_batch(sentence(5), sentence(3))))
        expected, after = bundle.model.decoder.step(torch.tensor([5, 6]), state)
        logits, state_after = bundle.model.decoder.step(
            torch.tensor([5, 6]), unflatten_state(state, flatten_state(state))
        )
    assert torch.equal(logits, expected)
    assert type(state_after) is type(after)
    assert flatten_state(state_after).keys() == flatten_state(after).keys()
