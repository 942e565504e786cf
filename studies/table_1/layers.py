"""The layers of Table 1 (Vaswani et al. 2017), as tongsa has them: from (batch, n, d) to (batch, n, d)."""

from collections.abc import Callable, Iterable
from itertools import count

import torch
from torch import Tensor, nn

from tongsa.nn.conv import DilatedConvolution, GatedConvolution, SeparableConvolution
from tongsa.nn.local_attention import centered_window
from tongsa.nn.multi_head import HeadConfig, SelfAttention
from tongsa.nn.rnn import CellKind, RecurrentLayer

HEADS = 4
WINDOW = 16
"""Attention window (r)."""
KERNEL = 3
"""Convolution kernel (k)."""
RECURRENT: dict[str, CellKind] = {"rnn": "tanh", "gru": "gru", "lstm": "lstm"}


class AttentionLayer(nn.Module):
    """Multi-head self-attention over sequences without padding, with an optional window."""

    def __init__(self, width: int, window: int = 0) -> None:
        super().__init__()
        heads = HeadConfig(count=HEADS, key_width=width // HEADS, value_width=width // HEADS)
        self.inner = SelfAttention(
            width, heads, "encoder", gain=1.0, window=centered_window(window) if window else None
        )

    def forward(self, inputs: Tensor) -> Tensor:
        mask = torch.ones(inputs.shape[:2], dtype=torch.bool, device=inputs.device)
        output: Tensor = self.inner(inputs, mask)
        return output

    def project(self, inputs: Tensor) -> Tensor:
        """Compute only the projections of queries, keys, values and output."""
        queries = self.inner.qkv_projection(inputs).chunk(3, dim=-1)[0]
        output: Tensor = self.inner.output_projection(queries)
        return output


class RecurrentSequence(nn.Module):
    """A recurrent layer over sequences without padding."""

    def __init__(self, width: int, cell: CellKind) -> None:
        super().__init__()
        self.inner = RecurrentLayer(width, width, cell)

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = self.inner(inputs, None)[0]
        return output

    def hop(self, inputs: Tensor, states: Tensor) -> Tensor:  # (batch, n, states · d)
        """Update all positions at once, each from its input and from the previous state of its left neighbor.

        After n hops the states are those of the recurrence: a signal travels one position in each hop.
        """
        shifted = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)
        projected = self.inner.project(inputs)
        return self.inner.step(projected.flatten(0, 1), shifted.flatten(0, 1)).view_as(states)


def build_layer(name: str, width: int, depth: int = 0) -> nn.Module:
    """Return a layer with random weights; dilations are k^depth, as in a stack that begins with depth 0."""
    if name in RECURRENT:
        return RecurrentSequence(width, RECURRENT[name])
    builders: dict[str, Callable[[], nn.Module]] = {
        "self-attention": lambda: AttentionLayer(width),
        "local-attention": lambda: AttentionLayer(width, WINDOW),
        "convolution": lambda: GatedConvolution(width, KERNEL, KERNEL // 2),
        # causal: the digits of a distance in base k say which input each layer reads
        "dilated": lambda: DilatedConvolution(width, KERNEL, KERNEL - 1, dilation=KERNEL**depth),
        "separable": lambda: SeparableConvolution(width, KERNEL, KERNEL // 2),
    }
    return builders[name]()


LAYERS = ("self-attention", "local-attention", "rnn", "gru", "lstm", "convolution", "dilated", "separable")


def reaches(output: Tensor, source: Tensor) -> bool:
    """Return whether an output depends on an input: the gradient of some element is not zero."""
    upstream = torch.randn(output.shape, generator=torch.Generator().manual_seed(0))
    (gradient,) = torch.autograd.grad((output * upstream).sum(), source, retain_graph=True, allow_unused=True)
    return gradient is not None and bool(gradient.abs().max() > 0)


def hops_to_reach(name: str, length: int, width: int) -> int:
    """Return how often positions must exchange information until the first input reaches the last output.

    A hop of an attention or of a convolution is one layer; a hop of a recurrent layer is one update of all states.
    """
    first, rest = torch.randn(1, 1, width, dtype=torch.float64), torch.randn(1, length - 1, width, dtype=torch.float64)
    first.requires_grad_()
    inputs = torch.cat([first, rest], dim=1)
    for hops, outputs in zip(range(1, length + 1), _hops(name, inputs), strict=False):
        if reaches(outputs[:, -1], first):
            return hops
    raise ValueError(f"{name}: the first of {length} inputs does not reach the last output.")


def _hops(name: str, inputs: Tensor) -> Iterable[Tensor]:
    width = inputs.shape[2]
    if name in RECURRENT:
        layer = build_layer(name, width).double()
        assert isinstance(layer, RecurrentSequence)  # noqa: S101
        states = inputs.new_zeros(*inputs.shape[:2], layer.inner.cell.num_states * width)
        while True:
            states = layer.hop(inputs, states)
            yield layer.inner.hidden(states)
    outputs = inputs
    for depth in count():
        outputs = build_layer(name, width, depth).double()(outputs)
        outputs = outputs / outputs.detach().std()  # values that grow from layer to layer would close gates for good
        yield outputs
