"""The simpler simple recurrent unit, SSRU (Kim et al. 2019): a recurrence in place of a decoder's self-attention.

    f_t = σ(W_f x_t + b_f)                          forget gate
    c_t = f_t ⊙ c_{t-1} + (1 - f_t) ⊙ W x_t         cell state, c_0 = 0
    h_t = max(0, c_t)

It is the SRU of Lei et al. (2018, section 2) without its reset gate; the residual connection of the Transformer takes
over what its highway connection did. No product reads the state, so one product projects all positions of a target,
and only elementwise operations run over time. A search step needs the last cell state alone, at any position.

The cell states are kept in the KV cache of the decoder: MAX_SLOTS slots, the cell before and after the step.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.kv_cache import RowGroup, concat_groups
from tongsa.nn.linear import Linear
from tongsa.nn.recording import record
from tongsa.nn.rnn import unroll

MAX_SLOTS = 2
"""Slots of the cache: c_{t-1} and c_t."""


class SSRU(nn.Module):
    """Recurrence over the target, for whole sequences and step by step."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.input_projection = Linear(width, 2 * width, blocks=2, bias=False)  # W_f and W
        self.forget_bias = nn.Parameter(torch.zeros(width))

    def forward(self, inputs: Tensor) -> Tensor:  # (batch, length, width)
        """Run over whole sequences (batch, length, width). Padding is on the right, where no token reads it."""
        projected = record("ssru.projected", self, self.input_projection(inputs), x=inputs)
        projected = projected.to(self.forget_bias.dtype)  # with autocast the product alone is in 16 bits
        cells, _ = unroll(self._next_cell, projected, projected.new_zeros(inputs.shape[0], inputs.shape[2]))
        return record("ssru.output", self, F.relu(cells), x=cells)

    def _next_cell(self, projected: Tensor, cell: Tensor) -> Tensor:  # (row, width)
        """Return c_t from W_f x_t, W x_t and c_{t-1}; `projected` is (row, 2 · width)."""
        gate_input, candidate = projected.chunk(2, dim=1)
        forget = record("ssru.forget_gate", self, torch.sigmoid(gate_input + self.forget_bias), a=projected)
        new_cell = torch.lerp(candidate, cell, forget)  # f ⊙ c + (1 - f) ⊙ candidate
        return record("ssru.cell", self, new_cell, f=forget, c=cell, n=candidate)

    def step(self, inputs: Tensor, groups: Sequence[RowGroup], layer_index: int) -> Tensor:  # (row, width)
        """Compute one position of each row (row, width), and write the cell state into the last slot."""
        projected = self.input_projection.forward(inputs)
        cells: list[Tensor] = []
        for group in groups:
            slots = group.slots[:, :, layer_index]  # (slot, row, width)
            cells.append(self._next_cell(projected[group.rows], slots[-2]))
            slots[-1].copy_(cells[-1])
        return F.relu(concat_groups(cells, inputs.shape[0]))
