"""Muon (Jordan et al. 2024): momentum, each matrix of which is made orthogonal before the step.

torch has one too, but it computes in bf16, which some CPUs do not survive; this one stays in float32, takes matrices of
one shape together, and treats projections that lie in one matrix as the several they are. Steps are scaled as by Liu et
al. (2025, section 2.2), to the size of AdamW's, so that one rate serves both.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from tongsa.nn.linear import Linear
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, distribute_like, full_tensor

POLAR_EXPRESS_COEFFICIENTS = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
)
"""a, b, c of each step of the Polar Express (Amsel et al. 2025): the best polynomials for so few steps."""


def orthogonalize(matrices: Tensor) -> Tensor:  # (matrix, row, column), rows ≤ columns
    """The nearest (semi-)orthogonal matrices, roughly: X ← aX + b(XXᵀ)X + c(XXᵀ)²X pulls singular values to one."""
    found: Tensor = matrices / (1.01 * matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    if found.shape[2] >= 2 * found.shape[1]:
        return _orthogonalize_wide(found)
    for a, b, c in POLAR_EXPRESS_COEFFICIENTS:
        square = found @ found.mT
        mixed = torch.baddbmm(square, square, square, beta=b, alpha=c)
        found = torch.baddbmm(found, mixed, found, beta=a)
    return found


def _orthogonalize_wide(matrices: Tensor) -> Tensor:
    """The same for long matrices: every step is a polynomial in XXᵀ, so iterate on that and multiply by X once."""
    square = matrices @ matrices.mT
    product = step = _polynomial(square, *POLAR_EXPRESS_COEFFICIENTS[0])
    for coefficients in POLAR_EXPRESS_COEFFICIENTS[1:]:
        square = step @ square @ step
        step = _polynomial(square, *coefficients)
        product = step @ product
    return product @ matrices


def _polynomial(gram: Tensor, a: float, b: float, c: float) -> Tensor:
    """The polynomial a + bA + cA²."""
    found = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
    found.diagonal(dim1=1, dim2=2).add_(a)
    return found


class Muon(torch.optim.Optimizer):
    """Workers that share a run share this too: each makes some of the matrices orthogonal, for all."""

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
        settings = {"lr": 1.0, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__([layer.weight for layer in linear], settings)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        assert closure is None  # noqa: S101 - nothing here evaluates twice
        (group,) = self.param_groups
        rate, momentum, weights = group["lr"], group["momentum"], group["params"]
        slopes = [weight.grad for weight in weights]
        means = [self.state[weight].setdefault("mean", torch.zeros_like(weight)) for weight in weights]
        torch._foreach_lerp_(means, slopes, 1 - momentum)
        moves = torch._foreach_lerp(slopes, means, momentum)  # Nesterov: a look ahead along the mean
        if group["weight_decay"]:
            torch._foreach_mul_(weights, 1 - rate * group["weight_decay"])
        steps = self._orthogonalize_updates([full_tensor(move) for move in moves])
        for weight, step, count in zip(weights, steps, self.block_counts, strict=True):
            longer = max(weight.shape[0] // count, weight.shape[1])
            weight.add_(distribute_like(step, weight), alpha=-rate * 0.2 * longer**0.5)

    def _orthogonalize_updates(self, updates: list[Tensor]) -> list[Tensor]:
        """Each made orthogonal, block by block; blocks of one shape go together, and are shared out among workers."""
        sizes = [move.numel() for move in updates]
        together = torch.zeros(sum(sizes), device=updates[0].device if updates else None)
        found = [part.view_as(move) for part, move in zip(torch.split(together, sizes), updates, strict=True)]
        shapes: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = {}
        for target, move, count in zip(found, updates, self.block_counts, strict=True):
            for into, block in zip(target.chunk(count), move.chunk(count), strict=True):
                lying = (into, block) if block.shape[0] <= block.shape[1] else (into.mT, block.mT)
                shapes.setdefault((min(block.shape), max(block.shape)), []).append(lying)
        for pairs in shapes.values():
            if mine := pairs[self.distributed.rank :: self.distributed.world_size]:
                torch._foreach_copy_(
                    [into for into, _ in mine], orthogonalize(torch.stack([b for _, b in mine])).unbind()
                )
        self.distributed.all_reduce(together)  # what others make is zero here
        return found
