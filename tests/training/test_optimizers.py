import pytest
import torch
from torch.testing import assert_close

from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.linear import Linear
from tongsa.training.config import TrainingConfig
from tongsa.training.muon import Muon, orthogonalize
from tongsa.training.optimizer import WeightEMA, build_optimizers


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 8, 32)])
def test_newton_schulz_brings_singular_values_near_one(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    drawn = torch.randn(shape)
    found = orthogonalize(drawn)
    values = torch.linalg.svdvals(found)
    drawn_values = torch.linalg.svdvals(drawn / drawn.norm(dim=(1, 2), keepdim=True))
    assert values.max() < 1.7
    assert values[drawn_values > 0.05].min() > 0.35
    left, _, right = torch.linalg.svd(drawn, full_matrices=False)
    for one, other in zip(found, left @ right, strict=True):  # the same directions as the exact polar factor
        assert torch.nn.functional.cosine_similarity(one.flatten(), other.flatten(), dim=0) > 0.9


def test_projections_in_one_matrix_move_as_if_each_had_its_own() -> None:
    torch.manual_seed(0)
    joined, apart = Linear(6, 18, blocks=3), [Linear(6, 6) for _ in range(3)]
    for single, block in zip(apart, joined.weight.detach().chunk(3), strict=True):
        single.weight.data.copy_(block)
    slope = torch.randn(18, 6)
    joined.weight.grad = slope.clone()
    for single, block in zip(apart, slope.chunk(3), strict=True):
        single.weight.grad = block.clone()
    before = joined.weight.detach().clone()
    for optimiser in (Muon([joined]), Muon(apart)):
        optimiser.param_groups[0]["lr"] = 0.1
        optimiser.step()
    moved, alone = joined.weight - before, torch.cat([single.weight for single in apart]) - before
    assert_close(moved, alone)
    assert moved.abs().min() > 0


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_every_parameter_has_one_optimiser(name: str) -> None:
    model = TransformerConfig(width=8, ffn_width=16, heads=2, encoder_layers=1, decoder_layers=1).build(9, 9)
    groups = [group for one in build_optimizers(model, TrainingConfig(optimizer=name)) for group in one.param_groups]  # type: ignore[arg-type]
    held = [parameter for group in groups for parameter in group["params"]]
    assert len(held) == len(set(held)) == len(list(model.parameters()))


def test_adam_is_torchs_adam_with_the_papers_numbers() -> None:
    (optimiser,) = build_optimizers(Linear(2, 2), TrainingConfig())
    assert isinstance(optimiser, torch.optim.Adam)
    assert optimiser.defaults["betas"] == (0.9, 0.98)
    assert optimiser.defaults["eps"] == 1e-9


def test_the_average_forgets_its_first_steps_and_then_follows_its_decay() -> None:
    layer = Linear(2, 2)
    average = WeightEMA(layer, 0.9)
    torch.nn.init.ones_(layer.weight)
    average.update(layer, 1)
    first = average.tensors["weight"].clone()
    assert (first > 0.5).all(), "the first average clings to where it started"
    torch.nn.init.zeros_(layer.weight)
    average.update(layer, 1000)
    assert_close(average.tensors["weight"], 0.9 * first)
