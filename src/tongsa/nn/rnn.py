"""Recurrent layers: the gated unit (Cho et al. 2014), the LSTM (Hochreiter and Schmidhuber 1997), the plain unit.

What a unit takes from its input does not wait for the step before: it is one product for all times, outside the loop.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from tongsa.nn.linear import Linear

CellKind = Literal["gru", "lstm", "tanh", "sigmoid"]


def recurrent_linear(width: int, blocks: int) -> Linear:
    """From state to state, without a bias, for the input brings one; orthogonal at birth (Saxe et al. 2014)."""
    matrix = Linear(width, blocks * width, blocks=blocks, bias=False)
    for block in matrix.weight.chunk(blocks):
        nn.init.orthogonal_(block)
    return matrix


class RNNCell(nn.Module):
    """One step of a recurrence, its input already projected; the state is one tensor, its parts side by side."""

    num_gates: int
    num_states: int

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:  # (batch, parts · width)
        raise NotImplementedError


class GRUCell(RNNCell):
    """h' = z ⊙ h + (1 - z) ⊙ tanh(Wx + U(r ⊙ h)), r and z logistic: section 2.3, equations 5-8."""

    num_gates, num_states = 3, 1

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate_projection = recurrent_linear(width, 2)
        self.candidate_projection = recurrent_linear(width, 1)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        width = state.shape[1]
        for_gates, for_candidate = projected.tensor_split([2 * width], dim=1)
        reset, update = torch.sigmoid(for_gates + self.gate_projection(state)).chunk(2, dim=1)
        candidate = torch.tanh(for_candidate + self.candidate_projection(reset * state))
        return torch.lerp(candidate, state, update)


class LSTMCell(RNNCell):
    """c' = f ⊙ c + i ⊙ g and h' = o ⊙ tanh(c'); h and c side by side; gates in the order i, f, g, o."""

    num_gates, num_states = 4, 2

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate_projection = recurrent_linear(width, 4)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        hidden, cell = state.chunk(2, dim=1)
        return lstm_update(projected + self.gate_projection(hidden), cell)


def lstm_update(gates: Tensor, cell: Tensor) -> Tensor:  # (batch, 2 · width)
    enter, keep, value, leave = gates.chunk(4, dim=1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(value)
    return torch.cat([torch.sigmoid(leave) * torch.tanh(cell), cell], dim=1)


class ElmanCell(RNNCell):
    """h' = f(Wx + Uh + b): Elman (1990)."""

    num_gates, num_states = 1, 1

    def __init__(self, width: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.activation = activation
        self.recurrent_projection = recurrent_linear(width, 1)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        return self.activation(projected + self.recurrent_projection(state))


CELLS: dict[CellKind, Callable[[int], RNNCell]] = {
    "gru": GRUCell,
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
) -> tuple[Tensor, Tensor]:
    """The state after every step (batch, length, ·) and after the last; where the mask is False it goes on unchanged.

    In reverse the steps run from right to left, and the padding that stands there first leaves the start as it is.
    """
    if torch.compiler.is_exporting():
        return _unroll_scan(step, projected, state, mask, reverse=reverse)
    times = list(projected.unbind(1))
    order = range(len(times))
    # most columns of a batch sorted by length have no padding, and need no choice
    full = [True] * len(times) if mask is None else mask.all(0).tolist()
    states = times.copy()
    for time in reversed(order) if reverse else order:
        after = step(times[time], state)
        state = after if mask is None or full[time] else torch.where(mask[:, time, None], after, state)
        states[time] = state
    return torch.stack(states, dim=1), state


def _unroll_scan(
    step: Callable[[Tensor, Tensor], Tensor], projected: Tensor, state: Tensor, mask: Tensor | None, *, reverse: bool
) -> tuple[Tensor, Tensor]:
    """The same as one operation, for an exported graph: a loop of Python would be written out for one length alone."""
    from torch._higher_order_ops import scan  # where torch keeps it until it is more than a prototype

    places = projected.new_ones(projected.shape[:2], dtype=torch.bool) if mask is None else mask

    def once(state: Tensor, inputs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        time, place = inputs
        after = torch.where(place.unsqueeze(1), step(time, state), state)
        return after, after.clone()

    last, states = scan(once, state, (projected.transpose(0, 1), places.transpose(0, 1)), reverse=reverse)
    return states.transpose(0, 1), last


class RecurrentLayer(nn.Module):
    """One layer in one direction: from left to right, or in reverse."""

    def __init__(self, input_width: int, width: int, cell: CellKind, *, reverse: bool = False) -> None:
        super().__init__()
        self.width = width
        self.reverse = reverse
        self.cell = CELLS[cell](width)
        self.input_projection = Linear(input_width, self.cell.num_gates * width, blocks=self.cell.num_gates)
        if cell == "lstm":  # it begins by remembering (Jozefowicz et al. 2015)
            nn.init.ones_(self.input_projection.bias.chunk(4)[1])

    def project(self, inputs: Tensor) -> Tensor:  # (batch, length, gates · width)
        """Wx + b of every gate at every time at once."""
        projected: Tensor = self.input_projection(inputs)
        return projected

    def initial_state(self, batch_size: int, like: Tensor) -> Tensor:  # (batch, parts · width)
        """The state before the first step."""
        return like.new_zeros(batch_size, self.cell.num_states * self.width)

    def step(self, projected: Tensor, state: Tensor) -> Tensor:  # (batch, parts · width)
        after: Tensor = self.cell(projected, state)
        return after

    def hidden(self, state: Tensor) -> Tensor:  # (..., width)
        """What a state shows of itself: an LSTM hides its cells."""
        return state[..., : self.width]

    def forward(
        self, inputs: Tensor, mask: Tensor | None, initial_state: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The hidden state at every time (batch, length, width) and the last state; no mask where none is needed."""
        projected = self.project(inputs)
        state = self.initial_state(inputs.shape[0], projected) if initial_state is None else initial_state
        states, last = unroll(self.step, projected, state, mask, reverse=self.reverse)
        return self.hidden(states), last
