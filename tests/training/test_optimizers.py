import pytest
import torch
from torch.testing import assert_close

from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.linear import Linear
from tongsa.training.config import TrainingConfig
from tongsa.training.muon import Muon, orthogonalize
from tongsa.training.optimizer import WeightEMA, build_optimizers


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 8, 32)])
def test_orthogonalization_moves_singular_values_close_to_one(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    matrices = torch.randn(shape)
    result = orthogonalize(matrices)
    singular_values = torch.linalg.svdvals(result)
    initial_values = torch.linalg.svdvals(matrices / matrices.norm(dim=(1, 2), keepdim=True))
    assert singular_values.max() < 1.7
    assert singular_values[initial_values > 0.05].min() > 0.35
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    for approximate, exact in zip(result, left @ right, strict=True):  # the exact polar factor
        assert torch.nn.functional.cosine_similarity(approximate.flatten(), exact.flatten(), dim=0) > 0.9


def test_blocks_of_one_matrix_are_updated_like_separate_matrices() -> None:
    torch.manual_seed(0)
    joined, separate = Linear(6, 18, blocks=3), [Linear(6, 6) for _ in range(3)]
    for layer, block in zip(separate, joined.weight.detach().chunk(3), strict=True):
        layer.weight.data.copy_(block)
    gradient = torch.randn(18, 6)
    joined.weight.grad = gradient.clone()
    for layer, block in zip(separate, gradient.chunk(3), strict=True):
        layer.weight.grad = block.clone()
    before = joined.weight.detach().clone()
    for optimizer in (Muon([joined]), Muon(separate)):
        optimizer.param_groups[0]["lr"] = 0.1
        optimizer.step()
    joined_update = joined.weight - before
    assert_close(joined_update, torch.cat([layer.weight for layer in separate]) - before)
    assert joined_update.abs().min() > 0


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_each_parameter_belongs_to_one_optimizer(name: str) -> None:
    model = TransformerConfig(width=8, ffn_width=16, heads=2, encoder_layers=1, decoder_layers=1).build(9, 9)
    optimizers = build_optimizers(model, TrainingConfig(optimizer=name))  # type: ignore[arg-type]
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    optimized = [parameter for group in groups for parameter in group["params"]]
    assert len(optimized) == len(set(optimized)) == len(list(model.parameters()))


def test_the_default_is_adam_with_the_hyperparameters_of_the_paper() -> None:
    (optimizer,) = build_optimizers(Linear(2, 2), TrainingConfig())
    assert isinstance(optimizer, torch.optim.Adam)
    assert optimizer.defaults["betas"] == (0.9, 0.98)
    assert optimizer.defaults["eps"] == 1e-9


def test_the_ema_starts_with_a_smaller_decay() -> None:
    layer = Linear(2, 2)
    ema = WeightEMA(layer, 0.9)
    torch.nn.init.ones_(layer.weight)
    ema.update(layer, 1)
    first = ema.tensors["weight"].clone()
    assert (first > 0.5).all(), "the initial weights dominate the first average"
    torch.nn.init.zeros_(layer.weight)
    ema.update(layer, 1000)
    assert_close(ema.tensors["weight"], 0.9 * first)
