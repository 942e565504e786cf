"""Muon (Jordan et al. 2024): momentum with an orthogonalized update of each matrix.

PyTorch's Muon computes in bf16, which crashes some CPUs. This implementation computes in float32 and batches matrices
of one shape; with oneDNN (nn/onednn_linear.py) threads compute them one by one. Projections stored in one matrix
(query, key, value) are orthogonalized separately. Updates are scaled to the size of AdamW's (Liu et al. 2025, section
2.2), so both use the same learning rate.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from tongsa.nn import onednn_linear
from tongsa.nn.linear import Linear
from tongsa.torch_threads import parallel_map
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, distribute_like, full_tensor

POLAR_EXPRESS_COEFFICIENTS = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
)
"""a, b, c of each iteration of the Polar Express (Amsel et al. 2025): the optimal polynomials for four iterations."""


def orthogonalize(matrices: Tensor) -> Tensor:  # (…, row, column), rows ≤ columns
    """Return approximately the nearest (semi-)orthogonal matrices.

    Each iteration X ← aX + b(XXᵀ)X + c(XXᵀ)²X moves the singular values towards one.
    """
    x: Tensor = matrices / (1.01 * matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    if x.shape[-1] >= 2 * x.shape[-2]:
        return _orthogonalize_wide(x)
    for a, b, c in POLAR_EXPRESS_COEFFICIENTS:
        gram = _matmul(x, x.mT)
        polynomial = _add_matmul(gram, gram, gram, b, c)
        x = _add_matmul(x, polynomial, x, a, 1.0)
    return x


def _orthogonalize_wide(matrices: Tensor) -> Tensor:
    """Return the same for wide matrices: each iteration is a polynomial in XXᵀ, so X is multiplied only once."""
    gram = _matmul(matrices, matrices.mT)
    product = factor = _polynomial(gram, *POLAR_EXPRESS_COEFFICIENTS[0])
    for coefficients in POLAR_EXPRESS_COEFFICIENTS[1:]:
        gram = _matmul(_matmul(factor, gram), factor)
        factor = _polynomial(gram, *coefficients)
        product = _matmul(factor, product)
    return _matmul(product, matrices)


def _polynomial(gram: Tensor, a: float, b: float, c: float) -> Tensor:
    """Return a + bA + cA² for A = `gram`."""
    result = _add_matmul(gram, gram, gram, b, c)
    result.diagonal(dim1=-2, dim2=-1).add_(a)
    return result


def _matmul(left: Tensor, right: Tensor) -> Tensor:  # (…, row, column)
    """Return the product of two matrices, or of two batches of them."""
    return onednn_linear.product(left, right.t()) if left.dim() == 2 else left @ right


def _add_matmul(matrices: Tensor, left: Tensor, right: Tensor, alpha: float, beta: float) -> Tensor:
    """Return alpha · matrices + beta · left right, for one of each or a batch of them."""
    if left.dim() == 2:
        return _matmul(left, right).mul_(beta).add_(matrices, alpha=alpha)
    return torch.baddbmm(matrices, left, right, beta=alpha, alpha=beta)


class Muon(torch.optim.Optimizer):
    """Muon for the weights of linear layers. Distributed processes share the orthogonalization."""

    def __init__(
        self,
        layers: Iterable[nn.Module],
        *,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        distributed: DistributedContext = SINGLE_PROCESS,
    ) -> None:
        linear = [layer for layer in layers if isinstance(layer, Linear)]
        self.block_counts = [layer.blocks for layer in linear]
        self.distributed = distributed
        defaults = {"lr": 1.0, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__([layer.weight for layer in linear], defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        assert closure is None  # noqa: S101 - the loss is never evaluated again
        (group,) = self.param_groups
        lr, momentum, weights = group["lr"], group["momentum"], group["params"]
        gradients = [weight.grad for weight in weights]
        buffers = [self.state[weight].setdefault("momentum", torch.zeros_like(weight)) for weight in weights]
        torch._foreach_lerp_(buffers, gradients, 1 - momentum)
        nesterov = torch._foreach_lerp(gradients, buffers, momentum)
        if group["weight_decay"]:
            torch._foreach_mul_(weights, 1 - lr * group["weight_decay"])
        updates = self._orthogonalize_updates([full_tensor(update) for update in nesterov])
        for weight, update, blocks in zip(weights, updates, self.block_counts, strict=True):
            larger_side = max(weight.shape[0] // blocks, weight.shape[1])
            weight.add_(distribute_like(update, weight), alpha=-lr * 0.2 * larger_side**0.5)

    def _orthogonalize_updates(self, updates: list[Tensor]) -> list[Tensor]:
        """Orthogonalize each block of each update. Ranks share the blocks of one shape."""
        sizes = [update.numel() for update in updates]
        flat = torch.zeros(sum(sizes), device=updates[0].device if updates else None)  # one tensor: one all-reduce
        results = [part.view_as(update) for part, update in zip(torch.split(flat, sizes), updates, strict=True)]
        blocks_by_shape: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = {}
        for result, update, count in zip(results, updates, self.block_counts, strict=True):
            for output, block in zip(result.chunk(count), update.chunk(count), strict=True):
                wide = (output, block) if block.shape[0] <= block.shape[1] else (output.mT, block.mT)
                blocks_by_shape.setdefault((min(block.shape), max(block.shape)), []).append(wide)
        for pairs in blocks_by_shape.values():
            if rank_pairs := pairs[self.distributed.rank :: self.distributed.world_size]:
                blocks = [block for _, block in rank_pairs]
                if onednn_linear.can_use_onednn(
                    blocks[0], blocks[0]
                ):  # its products are of two matrices, not of batches
                    orthogonal = list(parallel_map(orthogonalize, blocks))
                else:
                    orthogonal = list(orthogonalize(torch.stack(blocks)).unbind())
                torch._foreach_copy_([output for output, _ in rank_pairs], orthogonal)
        self.distributed.all_reduce(flat)  # the blocks of other ranks are zero here, so the sum gathers them
        return results
