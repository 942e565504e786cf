"""Every kind passes every check, and a model broken on purpose fails the one that is made for it."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tiny import CONFIGS, SIZE, kind_of, sentence, tiny
from tongsa.batch import Batch, Examples, Padded, Ragged
from tongsa.checks import model as checks
from tongsa.checks import resources
from tongsa.checks.resources import ResourceEstimate
from tongsa.interface import EncoderDecoder, Memory
from tongsa.tokenization.special import EOS, PAD
from tongsa.training.config import TrainingConfig

kinds = pytest.mark.parametrize("kind", CONFIGS)
plain = pytest.mark.parametrize("kind", [name for name in CONFIGS if name == kind_of(name)])
writers = pytest.mark.parametrize(
    "kind", [name for name, config in CONFIGS.items() if config.task != "classification" and name == kind_of(name)]
)


def batch_for(kind: str, rows: int = 6) -> Batch:
    labels = CONFIGS[kind].task == "classification"
    sources = [sentence(3 + at % 5, at)[:-1] for at in range(rows)]
    targets = [[at % SIZE] if labels else sentence(4 + at % 4, 9 + at)[:-1] for at in range(rows)]
    return Examples(Ragged(sources), Ragged(targets), not labels).batch(np.arange(rows))


class Peeking(nn.Module):
    """A decoder that has a look at the next piece, as one with a mask shifted by one would."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        ahead = torch.roll(target.tokens, -1, dims=1)
        logits: Tensor = self.inner(target, memory)
        return logits + nn.functional.one_hot(ahead, logits.shape[-1])


class Loud(nn.Module):
    """A decoder whose logits are twenty times too large."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        logits: Tensor = self.inner(target, memory)
        return 20 * logits


class Detached(nn.Module):
    """A decoder whose memory brings no gradient back to the encoder."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        logits: Tensor = self.inner(target, Memory(memory.slots.detach(), memory.mask))
        return logits


def broken(kind: str, how: type[nn.Module]) -> EncoderDecoder:
    model = tiny(kind)
    model.decoder = how(model.decoder)  # type: ignore[assignment]
    return model


@kinds
def test_no_kind_leaks_or_starts_wrong(kind: str) -> None:
    model, batch = tiny(kind), batch_for(kind)
    assert checks.check_causal_mask(model, batch).level == "ok"
    assert checks.check_initial_loss(model, batch).level in ("ok", "remark")


@plain
def test_every_kind_learns_a_batch_by_heart(kind: str) -> None:
    found = checks.check_overfits_one_batch(tiny(kind), batch_for(kind))
    assert found.level == "ok", found.text


@writers
def test_a_decoder_that_peeks_is_caught(kind: str) -> None:
    found = checks.check_causal_mask(broken(kind, Peeking), batch_for(kind))
    assert found.level == "fault"
    assert found.numbers["leaks"] == found.numbers["places"] - 1


def test_a_leak_behind_an_output_layer_of_zeros_is_caught() -> None:
    """At birth such a model says the same whatever it reads."""

    class Silent(Peeking):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__(inner)
            self.output = nn.Linear(SIZE, SIZE)
            nn.init.zeros_(self.output.weight)
            nn.init.zeros_(self.output.bias)

        def forward(self, target: Padded, memory: Memory) -> Tensor:
            logits: Tensor = self.output(super().forward(target, memory))
            return logits

    assert checks.check_causal_mask(broken("transformer", Silent), batch_for("transformer")).level == "fault"


def test_a_label_has_no_future() -> None:
    found = checks.check_causal_mask(tiny("structured_self_attention"), batch_for("structured_self_attention"))
    assert found.level == "ok"
    assert "no future" in found.seen


@plain
def test_logits_twenty_times_too_large_are_caught_at_the_start(kind: str) -> None:
    quiet, loud = (checks.check_initial_loss(model, batch_for(kind)) for model in (tiny(kind), broken(kind, Loud)))
    assert loud.numbers["loss"] > quiet.numbers["loss"] + 1
    if CONFIGS[kind].task == "seq2seq":
        assert loud.level in ("warning", "fault"), loud.text


def test_a_model_that_sees_its_answer_starts_too_low() -> None:
    class Telling(Peeking):
        def forward(self, target: Padded, memory: Memory) -> Tensor:  # noqa: ARG002 - as every decoder
            ahead = nn.functional.pad(target.tokens[:, 1:], (0, 1))
            return 9 * nn.functional.one_hot(ahead.where(ahead != PAD, EOS), SIZE).float()

    assert checks.check_initial_loss(broken("transformer", Telling), batch_for("transformer")).level == "warning"


def test_no_number_at_the_start_is_a_fault() -> None:
    model = tiny("transformer")
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    assert checks.check_initial_loss(model, batch_for("transformer")).level == "fault"
    assert checks.check_overfits_one_batch(model, batch_for("transformer")).level == "fault"


@plain
def test_a_frozen_model_cannot_learn_by_heart(kind: str) -> None:
    model = tiny(kind).requires_grad_(False)
    found = checks.check_overfits_one_batch(model, batch_for(kind))
    assert found.level == "fault"
    assert found.numbers["idle"] == len(list(model.parameters()))


def test_parameters_behind_a_detached_memory_are_named() -> None:
    found = checks.check_overfits_one_batch(broken("rnn_attention", Detached), batch_for("rnn_attention"))
    assert found.level in ("remark", "warning")
    assert any(name.startswith("encoder.") for name in found.examples)
    assert "detach" in found.remedy


@plain
def test_the_model_and_the_generators_are_left_as_they_were(kind: str) -> None:
    model, batch = tiny(kind).train(), batch_for(kind)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    drawn, other = torch.get_rng_state(), random.getstate()
    checks.check_causal_mask(model, batch)
    checks.check_initial_loss(model, batch)
    checks.check_overfits_one_batch(model, batch)
    resources.estimate_resources(model, batch, [batch] * 3, TrainingConfig(precision="fp32", device="cpu"))
    assert model.training
    assert torch.equal(torch.get_rng_state(), drawn)
    assert random.getstate() == other
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(("peak", "level"), [(20, "ok"), (90, "warning"), (101, "fault")])
def test_memory_is_judged_by_what_there_is(peak: int, level: str) -> None:
    assert resources.check_memory(ResourceEstimate(peak << 20, 1.0, True, 100 << 20)).level == level


NEED = """
import sys
from dataclasses import replace
from test_preflight import batch_for
from tiny import CONFIGS, SIZE
from tongsa.training import footprint
from tongsa.training.loop import TrainingConfig
model, batch = replace(CONFIGS["transformer"], inner=int(sys.argv[1])).build(SIZE, SIZE), batch_for("transformer")
peak = footprint.need(model, batch, [batch] * 3, TrainingConfig(precision="fp32", device="cpu")).peak
print(peak, sum(4 * value.numel() for value in model.parameters()))
"""


def test_a_wide_model_is_measured_to_need_more_than_a_narrow_one() -> None:
    """Each in a new process, for an old one has memory left to use again."""
    path = {"PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[1])))}

    def measured(inner: int) -> list[float]:
        command = [sys.executable, "-c", NEED, str(inner)]
        done = subprocess.run(command, env=os.environ | path, capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split()]

    (wide, parameters), (narrow, _) = measured(100_000), measured(32)
    assert wide - narrow > 4 * parameters, "weights, gradients and two moments of each"


def test_the_time_of_all_updates_is_told_in_words() -> None:
    training = TrainingConfig(steps=1000)
    assert "about 50.0 minutes" in resources.check_training_time(ResourceEstimate(0, 3.0, False, 1), training).seen
    long = resources.check_training_time(ResourceEstimate(0, 300.0, False, 1), training)
    assert long.level == "remark"
    assert "days" in long.seen
