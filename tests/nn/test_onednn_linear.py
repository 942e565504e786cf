"""Products of training by oneDNN equal those of F.linear: results, gradients, whole models, bounded memory."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from processes import ENVIRONMENT
from tiny import CONFIGS, tiny
from tongsa import system
from tongsa.batch import Batch, pad
from tongsa.nn import onednn_linear
from tongsa.nn.linear import Linear
from tongsa.nn.onednn_linear import can_use_onednn, product, transposed_product
from tongsa.nn.packed_linear import linear
from tongsa.tokenization.special import BOS
from tongsa.torch_threads import torch_threads
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import compute_gradient
from tongsa.training.loss import TrainingModel
from tongsa.training.muon import Muon

pytestmark = pytest.mark.skipif(not onednn_linear.HAS_ONEDNN, reason="this build of torch has no oneDNN")


@pytest.fixture
def _all_products(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use oneDNN on any CPU, for products of any size; some product must have used it."""
    monkeypatch.setattr(onednn_linear, "USES_ONEDNN", True)
    monkeypatch.setattr(onednn_linear, "MIN_MULTIPLY_ADDS", 1)
    counts = Counter[bool]()

    def count(x: Tensor, weight: Tensor) -> bool:
        counts[result := can_use_onednn(x, weight)] += 1
        return result

    monkeypatch.setattr(onednn_linear, "can_use_onednn", count)
    yield
    assert counts[True]


def gradients(function: object, *tensors: Tensor | None) -> list[Tensor]:
    leaves = [None if tensor is None else tensor.detach().clone().requires_grad_() for tensor in tensors]
    y = function(*leaves)  # type: ignore[operator]
    y.square().sum().backward()
    return [y.detach(), *(leaf.grad for leaf in leaves if leaf is not None)]


@pytest.mark.usefixtures("_all_products")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 8, 8), (7, 24, 40), (130, 40, 24), (16, 16, 16)])
def test_results_and_gradients_equal_those_of_mkl(rows: int, inputs: int, outputs: int, bias: bool) -> None:
    x, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
    shift = torch.randn(outputs) if bias else None
    for inputs_of_layer in (x, x.view(rows, 1, inputs)):
        ours, theirs = (
            gradients(linear, inputs_of_layer, weight, shift),
            gradients(F.linear, inputs_of_layer, weight, shift),
        )
        for computed, expected in zip(ours, theirs, strict=True):
            assert_close(computed, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("_all_products")
def test_slices_and_transposed_tensors_are_read_as_they_are() -> None:
    wide = torch.randn(30, 60)
    for left in (wide[:, :20], wide[3:, 40:], wide.t()[:20].t(), wide[:1].expand(9, 60)[:, :20]):
        for right in (wide[:, 10:30], wide[5:, 30:50], wide.t()[20:40].t()):
            assert_close(product(left, right), left @ right.t())
            rows = min(len(left), len(right))
            assert_close(transposed_product(left[:rows], right[:rows]), left[:rows].t() @ right[:rows])


@pytest.mark.usefixtures("_all_products")
def test_other_numbers_are_left_to_torch() -> None:
    x, weight = torch.randn(9, 8), torch.randn(4, 8)
    with pytest.raises(RuntimeError):  # not reshaped to another number of rows
        linear(torch.randn(4, 16), weight, None)
    assert linear(x.double(), weight.double(), None).dtype == torch.float64
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x, weight, None).dtype == torch.bfloat16


@pytest.mark.usefixtures("_all_products")
def test_frozen_weights_and_inputs_without_gradients() -> None:
    x, weight = torch.randn(9, 8), torch.randn(4, 8)
    for needs_x, needs_weight in ((True, False), (False, True)):
        left, right = x.clone().requires_grad_(needs_x), weight.clone().requires_grad_(needs_weight)
        linear(left, right, None).sum().backward()  # type: ignore[no-untyped-call]
        assert (left.grad is None, right.grad is None) == (not needs_x, not needs_weight)
        if needs_x:
            assert_close(left.grad, weight.sum(0).expand(9, 8))
        else:
            assert_close(right.grad, x.sum(0).expand(4, 8))


@pytest.mark.usefixtures("_all_products")
def test_a_model_in_training_is_searched_with_its_own_weights() -> None:
    layer = Linear(24, 40)
    for rows in (1, 2, 17, 300, 2000):
        x = torch.randn(rows, 24)
        for _ in range(2):
            with torch.inference_mode():
                computed = layer(x)
            assert_close(computed, F.linear(x, layer.weight, layer.bias).detach())
            with torch.no_grad():
                layer.weight += 0.1


@pytest.mark.parametrize("shape", [(24, 24), (16, 40), (40, 16)])
def test_muon_computes_the_same_one_by_one(shape: tuple[int, int], request: pytest.FixtureRequest) -> None:
    def update() -> list[Tensor]:
        torch.manual_seed(1)
        layers = [Linear(*shape) for _ in range(3)]
        for layer in layers:
            layer.weight.grad = torch.randn_like(layer.weight)
        Muon(layers).step()
        return [layer.weight.detach() for layer in layers]

    expected = update()
    request.getfixturevalue("_all_products")
    for computed, weight in zip(update(), expected, strict=True):
        assert_close(computed, weight, rtol=1e-3, atol=1e-4)


def batch_of(kind: str) -> Batch:
    rows = [[4, 5, 6, 7], [8, 9], [10, 11, 12]]
    targets = [row[:1] for row in rows] if CONFIGS[kind].task == "classification" else rows
    return Batch(pad(rows), pad([[BOS, *row[:-1]] for row in targets]), pad(targets))


def loss_and_gradients(kind: str, batches: int = 1, threads: int = 1) -> tuple[float, list[Tensor]]:
    config = TrainingConfig(steps=1, precision="fp32", device="cpu", threads=threads, label_smoothing=0.1)
    model = TrainingModel(tiny(kind).train(), config)
    with torch_threads(1):
        loss, _ = compute_gradient(model, [[batch_of(kind)]] * batches, 1, config)
    return loss, [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_update_of_every_kind_is_the_same(kind: str, request: pytest.FixtureRequest) -> None:
    loss, expected = loss_and_gradients(kind)
    request.getfixturevalue("_all_products")
    onednn_loss, computed = loss_and_gradients(kind)
    assert onednn_loss == pytest.approx(loss, rel=1e-5)
    assert all(gradient.is_contiguous() for gradient in computed), "optimizers are slow otherwise"
    for gradient, other in zip(computed, expected, strict=True):
        assert_close(gradient, other, rtol=1e-3, atol=1e-6)


@pytest.mark.usefixtures("_all_products")
def test_threads_share_kernels_and_give_identical_gradients() -> None:
    loss, gradients = loss_and_gradients("transformer", batches=6)
    for _ in range(3):
        parallel_loss, parallel = loss_and_gradients("transformer", batches=6, threads=3)
        assert parallel_loss == loss
        assert all(map(torch.equal, parallel, gradients))


@pytest.mark.skipif(not onednn_linear.USES_ONEDNN, reason="on this CPU training does not use oneDNN")
@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(700, 256, 256), (2400, 256, 4000), (5000, 64, 128)])
def test_products_do_not_depend_on_the_number_of_threads(rows: int, inputs: int, outputs: int) -> None:
    """So a run resumes to the same bytes with another number of threads."""
    x, weight, grad = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(rows, outputs)

    def products(threads: int) -> tuple[Tensor, ...]:
        with torch_threads(threads):
            return product(x, weight), product(grad, weight.t()), transposed_product(grad, x)

    expected = products(1)
    for threads in (2, 3):
        assert all(map(torch.equal, products(threads), expected))


MEASURE = """
import os
import torch
from tongsa import system
from tongsa.nn import onednn_linear
os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] = os.environ["LRU_CACHE_CAPACITY"] = str(onednn_linear.KERNEL_CACHE_SIZE)
from tongsa.nn.onednn_linear import product
torch.set_num_threads(1)
weight = torch.randn(64, 48)
def use(rows):
    for count in rows:
        product(torch.zeros(count, 48), weight)
onednn_linear.USES_ONEDNN, onednn_linear.MIN_MULTIPLY_ADDS = True, 1
use(range(1, 600))
before = system.peak_memory()
use(range(600, 2600))
print(system.peak_memory() - before)
"""


@pytest.mark.skipif(system.peak_memory() is None, reason="Python cannot measure memory here")
def test_memory_does_not_grow_with_the_number_of_shapes() -> None:
    """Without a limit, 2,000 more kernels take hundreds of MiB."""
    child = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, encoding="utf-8", env=ENVIRONMENT)
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) < 150 << 20
