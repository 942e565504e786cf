"""Recurrent layers: GRU (Cho et al. 2014), LSTM (Hochreiter and Schmidhuber 1997), Elman network (Elman 1990).

inputs (batch, length, width) ─► project: W x + b of all gates at all time steps in one product
                                    │ step by step: cell(projected, state) ─► state
                                    ▼
                                 hidden states (batch, length, width), last state (batch, states · width)
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from tongsa.nn.linear import Linear
from tongsa.nn.recording import record, record_copy, record_time

CellKind = Literal["gru", "gru-reset-after", "lstm", "tanh", "sigmoid"]


def recurrent_linear(width: int, blocks: int) -> Linear:
    """Return the matrix from state to state: orthogonal at the start (Saxe et al. 2014); the input has the bias."""
    matrix = Linear(width, blocks * width, blocks=blocks, bias=False)
    for block in matrix.weight.chunk(blocks):
        nn.init.orthogonal_(block)
    return matrix


class RNNCell(nn.Module):
    """One time step. The input is already projected; the state is one tensor, an LSTM's h and c concatenated."""

    num_gates: int
    """Number of gates, which are blocks of the projected input."""
    num_states: int
    """Number of vectors in the state: 2 for an LSTM (h and c), else 1."""

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:  # (batch, states · width)
        raise NotImplementedError


class GRUCell(RNNCell):
    """h' = z ⊙ h + (1 - z) ⊙ tanh(Wx + U(r ⊙ h)), with sigmoid gates r and z: section 2.3, equations 5-8."""

    num_gates, num_states = 3, 1

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate_projection = recurrent_linear(width, 2)
        self.candidate_projection = recurrent_linear(width, 1)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        width = state.shape[1]
        gate_inputs, candidate_input = projected.tensor_split([2 * width], dim=1)
        reset, update = torch.sigmoid(gate_inputs + self.gate_projection(state)).chunk(2, dim=1)
        reset = record("gru.reset", self, reset, a=projected, h=state)
        update = record("gru.update", self, update, a=projected, h=state)
        candidate = torch.tanh(candidate_input + self.candidate_projection(reset * state))
        candidate = record("gru.candidate", self, candidate, a=projected, r=reset, h=state)
        new_state = torch.lerp(candidate, state, update)  # z ⊙ h + (1 - z) ⊙ candidate
        return record("gru.state", self, new_state, z=update, h=state, n=candidate)


class ResetAfterGRUCell(RNNCell):
    """A GRU with the candidate tanh(Wx + r ⊙ (Uh + b)), as in cuDNN and torch.nn.GRU.

    The reset gate multiplies U h instead of h: one product with all three matrices instead of two in sequence.
    """

    num_gates, num_states = 3, 1

    def __init__(self, width: int) -> None:
        super().__init__()
        self.state_projection = recurrent_linear(width, 3)
        self.candidate_bias = nn.Parameter(torch.zeros(width))

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        width = state.shape[1]
        gate_inputs, candidate_input = projected.tensor_split([2 * width], dim=1)
        gate_states, candidate_state = self.state_projection(state).tensor_split([2 * width], dim=1)
        reset, update = torch.sigmoid(gate_inputs + gate_states).chunk(2, dim=1)
        reset = record("gru.reset", self, reset, a=projected, h=state)
        update = record("gru.update", self, update, a=projected, h=state)
        candidate = torch.tanh(candidate_input + reset * (candidate_state + self.candidate_bias))
        candidate = record("gru.reset_after_candidate", self, candidate, a=projected, r=reset, h=state)
        return record("gru.state", self, torch.lerp(candidate, state, update), z=update, h=state, n=candidate)


class LSTMCell(RNNCell):
    """c' = f ⊙ c + i ⊙ g and h' = o ⊙ tanh(c'). The state is [h, c]; the gates are in the order i, f, g, o."""

    num_gates, num_states = 4, 2

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate_projection = recurrent_linear(width, 4)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        hidden, cell = state.chunk(2, dim=1)
        gates = record("lstm.gates", self, projected + self.gate_projection(hidden), a=projected, h=hidden)
        return lstm_update(self, gates, cell)


def lstm_update(module: nn.Module, gates: Tensor, cell: Tensor) -> Tensor:  # (batch, 2 · width)
    """Return the next [h, c] from the pre-activations of the gates and the cell state."""
    input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=1)
    input_gate = record("lstm.input_gate", module, torch.sigmoid(input_gate), x=input_gate)
    forget_gate = record("lstm.forget_gate", module, torch.sigmoid(forget_gate), x=forget_gate)
    candidate = record("lstm.candidate", module, torch.tanh(candidate), x=candidate)
    output_gate = record("lstm.output_gate", module, torch.sigmoid(output_gate), x=output_gate)
    new_cell = forget_gate * cell + input_gate * candidate
    new_cell = record("lstm.cell", module, new_cell, f=forget_gate, c=cell, i=input_gate, g=candidate)
    hidden = record("lstm.hidden", module, output_gate * torch.tanh(new_cell), o=output_gate, c=new_cell)
    return record("lstm.state", module, torch.cat([hidden, new_cell], dim=1), x=hidden, y=new_cell)


class ElmanCell(RNNCell):
    """h' = f(Wx + Uh + b): Elman (1990)."""

    num_gates, num_states = 1, 1

    def __init__(self, width: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.activation = activation
        self.recurrent_projection = recurrent_linear(width, 1)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        new_state = self.activation(projected + self.recurrent_projection(state))
        return record("elman.state", self, new_state, a=projected, h=state)


CELLS: dict[CellKind, Callable[[int], RNNCell]] = {
    "gru": GRUCell,
    "gru-reset-after": ResetAfterGRUCell,
    "lstm": LSTMCell,
    "tanh": lambda width: ElmanCell(width, torch.tanh),
    "sigmoid": lambda width: ElmanCell(width, torch.sigmoid),
}


def unroll(
    step: Callable[[Tensor, Tensor], Tensor],
    projected: Tensor,
    state: Tensor,
    mask: Tensor | None = None,
    *,
    reverse: bool = False,
    is_mirrored: bool = False,
) -> tuple[Tensor, Tensor]:
    """Run a cell over time; return the state after every step (batch, length, states · width) and the last state.

    Where the mask is False the state stays unchanged. In reverse the steps run from right to left: padding comes first
    and leaves the initial state unchanged. `is_mirrored` says that the input itself is reversed, for recorded times.
    """
    if torch.compiler.is_exporting():
        return _unroll_scan(step, projected, state, mask, reverse=reverse)
    times = list(projected.unbind(1))
    order = range(len(times))
    # most columns of a batch sorted by length have no padding: they need no torch.where
    has_no_padding = [True] * len(times) if mask is None else mask.all(0).tolist()
    states = times.copy()
    for time in reversed(order) if reverse else order:
        record_time(len(times) - 1 - time if is_mirrored else time)
        new_state = step(times[time], state)
        keep_all = mask is None or has_no_padding[time]
        state = new_state if keep_all else torch.where(mask[:, time, None], new_state, state)  # type: ignore[index]
        states[time] = state
    record_time(None)
    return record_copy(torch.stack(states, dim=1), state), state


def _unroll_scan(
    step: Callable[[Tensor, Tensor], Tensor], projected: Tensor, state: Tensor, mask: Tensor | None, *, reverse: bool
) -> tuple[Tensor, Tensor]:
    """Unroll as one operation, for an exported graph: a Python loop would be fixed to one length."""
    from torch._higher_order_ops import scan  # a prototype in torch: it has no public name yet

    full_mask = projected.new_ones(projected.shape[:2], dtype=torch.bool) if mask is None else mask

    def masked_step(state: Tensor, inputs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        projected_now, is_token = inputs
        new_state = torch.where(is_token.unsqueeze(1), step(projected_now, state), state)
        return new_state, new_state.clone()

    last_state, states = scan(
        masked_step, state, (projected.transpose(0, 1), full_mask.transpose(0, 1)), reverse=reverse
    )
    return states.transpose(0, 1), last_state


class RecurrentLayer(nn.Module):
    """One recurrent layer in one direction: from left to right, or in reverse."""

    def __init__(self, input_width: int, width: int, cell: CellKind, *, reverse: bool = False) -> None:
        super().__init__()
        self.width = width
        self.reverse = reverse
        self.cell = CELLS[cell](width)
        self.input_projection = Linear(input_width, self.cell.num_gates * width, blocks=self.cell.num_gates)
        if cell == "lstm":  # forget gate bias 1: the cell keeps its content at first (Jozefowicz et al. 2015)
            nn.init.ones_(self.input_projection.bias.chunk(4)[1])

    def project(self, inputs: Tensor) -> Tensor:  # (batch, length, gates · width)
        """Return Wx + b of all gates at all time steps."""
        return record("rnn.projected", self, self.input_projection(inputs), x=inputs)

    def initial_state(self, batch_size: int, like: Tensor) -> Tensor:  # (batch, states · width)
        return like.new_zeros(batch_size, self.cell.num_states * self.width)

    def step(self, projected: Tensor, state: Tensor) -> Tensor:  # (batch, states · width)
        new_state: Tensor = self.cell(projected, state)
        return new_state

    def hidden(self, state: Tensor) -> Tensor:  # (…, width)
        """Return the hidden state h: an LSTM's state without its cell."""
        return state[..., : self.width]

    def forward(
        self, inputs: Tensor, mask: Tensor | None, initial_state: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the hidden states (batch, length, width) and the last state; None as mask means no padding."""
        projected = self.project(inputs)
        state = self.initial_state(inputs.shape[0], projected) if initial_state is None else initial_state
        states, last_state = unroll(self.step, projected, state, mask, reverse=self.reverse)
        return self.hidden(states), last_state
