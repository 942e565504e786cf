"""Model checks: each kind passes them, and a model with a deliberate fault fails the right one."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import tongsa
from tiny import CONFIGS, SIZE, kind_of, sentence, tiny
from tongsa.batch import Batch, Examples, Padded, Ragged
from tongsa.checks import model as checks
from tongsa.checks import resources
from tongsa.checks.resources import ResourceEstimate
from tongsa.interface import EncoderDecoder, Memory
from tongsa.tokenization.special import EOS, PAD
from tongsa.training.config import TrainingConfig

all_kinds = pytest.mark.parametrize("kind", CONFIGS)
default_kinds = pytest.mark.parametrize("kind", [name for name in CONFIGS if name == kind_of(name)])
decoder_kinds = pytest.mark.parametrize(
    "kind", [name for name, config in CONFIGS.items() if config.task != "classification" and name == kind_of(name)]
)


def batch_for(kind: str, rows: int = 6) -> Batch:
    labels = CONFIGS[kind].task == "classification"
    sources = [sentence(3 + row % 5, row)[:-1] for row in range(rows)]
    targets = [[row % SIZE] if labels else sentence(4 + row % 4, 9 + row)[:-1] for row in range(rows)]
    return Examples(Ragged(sources), Ragged(targets), not labels).batch(np.arange(rows))


class LeakyDecoder(nn.Module):
    """A decoder that sees the next token, as with a causal mask that is off by one."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        ahead = torch.roll(target.tokens, -1, dims=1)
        logits: Tensor = self.inner(target, memory)
        return logits + nn.functional.one_hot(ahead, logits.shape[-1])


class LargeLogitsDecoder(nn.Module):
    """A decoder whose logits are twenty times too large."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        logits: Tensor = self.inner(target, memory)
        return 20 * logits


class DetachedDecoder(nn.Module):
    """A decoder that passes no gradient to the encoder."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        logits: Tensor = self.inner(target, Memory(memory.slots.detach(), memory.mask))
        return logits


def with_decoder(kind: str, wrapper: type[nn.Module]) -> EncoderDecoder:
    model = tiny(kind)
    model.decoder = wrapper(model.decoder)  # type: ignore[assignment]
    return model


@all_kinds
def test_each_kind_has_a_causal_mask_and_a_plausible_initial_loss(kind: str) -> None:
    model, batch = tiny(kind), batch_for(kind)
    assert checks.check_causal_mask(model, batch).level == "ok"
    assert checks.check_initial_loss(model, batch).level in ("ok", "remark")


@default_kinds
def test_each_kind_overfits_one_batch(kind: str) -> None:
    finding = checks.check_overfits_one_batch(tiny(kind), batch_for(kind))
    assert finding.level == "ok", finding.text


@decoder_kinds
def test_a_decoder_that_sees_the_next_token_is_a_fault(kind: str) -> None:
    finding = checks.check_causal_mask(with_decoder(kind, LeakyDecoder), batch_for(kind))
    assert finding.level == "fault"
    assert finding.numbers["leaks"] == finding.numbers["positions"] - 1


def test_a_leak_before_an_output_layer_of_zeros_is_a_fault() -> None:
    """Before training such a model has the same logits for all inputs."""

    class ZeroOutputDecoder(LeakyDecoder):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__(inner)
            self.output = nn.Linear(SIZE, SIZE)
            nn.init.zeros_(self.output.weight)
            nn.init.zeros_(self.output.bias)

        def forward(self, target: Padded, memory: Memory) -> Tensor:
            logits: Tensor = self.output(super().forward(target, memory))
            return logits

    model = with_decoder("transformer", ZeroOutputDecoder)
    assert checks.check_causal_mask(model, batch_for("transformer")).level == "fault"


def test_a_classifier_has_no_later_tokens_to_leak() -> None:
    finding = checks.check_causal_mask(tiny("structured_self_attention"), batch_for("structured_self_attention"))
    assert finding.level == "ok"
    assert "no later tokens" in finding.seen


@default_kinds
def test_logits_twenty_times_too_large_raise_the_initial_loss(kind: str) -> None:
    normal = checks.check_initial_loss(tiny(kind), batch_for(kind))
    large = checks.check_initial_loss(with_decoder(kind, LargeLogitsDecoder), batch_for(kind))
    assert large.numbers["loss"] > normal.numbers["loss"] + 1
    if CONFIGS[kind].task == "seq2seq":
        assert large.level in ("warning", "fault"), large.text


def test_a_model_that_sees_its_target_has_too_low_an_initial_loss() -> None:
    class CopyingDecoder(LeakyDecoder):
        def forward(self, target: Padded, memory: Memory) -> Tensor:  # noqa: ARG002 - the decoders' signature
            ahead = nn.functional.pad(target.tokens[:, 1:], (0, 1))
            return 9 * nn.functional.one_hot(ahead.where(ahead != PAD, EOS), SIZE).float()

    model = with_decoder("transformer", CopyingDecoder)
    assert checks.check_initial_loss(model, batch_for("transformer")).level == "warning"


def test_nan_weights_are_a_fault() -> None:
    model = tiny("transformer")
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    assert checks.check_initial_loss(model, batch_for("transformer")).level == "fault"
    assert checks.check_overfits_one_batch(model, batch_for("transformer")).level == "fault"


@default_kinds
def test_a_frozen_model_is_a_fault(kind: str) -> None:
    model = tiny(kind).requires_grad_(False)
    finding = checks.check_overfits_one_batch(model, batch_for(kind))
    assert finding.level == "fault"
    assert finding.numbers["without_gradient"] == len(list(model.parameters()))


def test_parameters_without_gradient_are_named() -> None:
    model = with_decoder("rnn_attention", DetachedDecoder)
    finding = checks.check_overfits_one_batch(model, batch_for("rnn_attention"))
    assert finding.level in ("remark", "warning")
    assert any(name.startswith("encoder.") for name in finding.examples)
    assert "detach" in finding.remedy


@default_kinds
def test_checks_do_not_change_the_model_or_the_random_generators(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_OVERFIT_UPDATES", 3)
    model, batch = tiny(kind).train(), batch_for(kind)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    checks.check_causal_mask(model, batch)
    checks.check_initial_loss(model, batch)
    checks.check_overfits_one_batch(model, batch)
    resources.estimate_resources(model, batch, [batch] * 3, TrainingConfig(precision="fp32", device="cpu"))
    assert model.training
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert random.getstate() == python_state
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(("peak", "level"), [(20, "ok"), (90, "warning"), (101, "fault")])
def test_memory_is_compared_with_what_is_available(peak: int, level: str) -> None:
    assert resources.check_memory(ResourceEstimate(peak << 20, 1.0, True, 100 << 20)).level == level


MEASURE_SCRIPT = """
import math, sys
from dataclasses import replace
from test_model_checks import batch_for
from tiny import CONFIGS, SIZE
from tongsa.checks import resources
from tongsa.training.config import TrainingConfig
resources.MAX_TRIAL_UPDATE_SECONDS = resources.MEMORY_WARNING_FRACTION = math.inf  # measure, however busy the machine
model = replace(CONFIGS["transformer"], ffn_width=int(sys.argv[1])).build(SIZE, SIZE)
batch = batch_for("transformer")
estimate = resources.estimate_resources(model, batch, [batch] * 3, TrainingConfig(precision="fp32", device="cpu"))
assert not estimate.extrapolated
print(estimate.peak_bytes, sum(4 * value.numel() for value in model.parameters()))
"""


@pytest.mark.slow
def test_a_wide_model_needs_more_memory_than_a_narrow_one() -> None:
    """Each is measured in a new process, because a process keeps freed memory for reuse."""
    folders = (Path(__file__).parent, Path(__file__).parents[1], Path(tongsa.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}

    def measure(ffn_width: int) -> list[float]:
        command = [sys.executable, "-c", MEASURE_SCRIPT, str(ffn_width)]
        child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert child.returncode == 0, child.stderr
        return [float(word) for word in child.stdout.split()]

    (wide_peak, weight_bytes), (narrow_peak, _) = measure(20_000), measure(32)
    assert wide_peak - narrow_peak > 4 * weight_bytes, "weights, gradients and two moments"


def test_the_training_time_is_formatted() -> None:
    training = TrainingConfig(steps=1000)
    assert "about 50.0 minutes" in resources.check_training_time(ResourceEstimate(0, 3.0, False, 1), training).seen
    long = resources.check_training_time(ResourceEstimate(0, 300.0, False, 1), training)
    assert long.level == "remark"
    assert "days" in long.seen
