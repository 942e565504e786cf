"""What every stack of a Transformer shares: settings, embeddings, and what surrounds a sub-layer."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from tongsa.layers.attention import Comparison
from tongsa.layers.dropout import Dropout
from tongsa.layers.feed_forward import ACTIVATIONS, Activation, FeedForward
from tongsa.layers.linear import vectors
from tongsa.layers.multi_head import Heads
from tongsa.layers.norms import NoNorm, NormKind, norm
from tongsa.layers.positions import PositionKind, Positions


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """The defaults are those of the base model of Vaswani et al. (2017)."""

    width: int = 512
    """Width of the embeddings and of every layer's output (d_model)."""
    inner: int = 2048
    """Width inside the position-wise network (d_ff)."""
    heads: int = 8
    key_width: int = 0
    """Width of each head's queries and keys (d_k); 0 is width / heads."""
    value_width: int = 0
    """Width of each head's values (d_v); 0 is width / heads."""
    attention: Comparison = "scaled-dot"
    """q·k/√d_k as in the paper; q·k; or v·tanh(q + k), which is slower."""
    query_norm: bool = False
    """Whether each head's queries and keys are normalised before they are compared (Henry et al. 2020, section 3, here
    by their root mean square with a learned scale): attention is learnt sooner, and cannot grow without bound."""
    neighbourhood: int = 0
    """How many places self-attention sees (section 4): in an encoder those around each place, of an even number one
    more to the left; in a decoder the last ones, its own included. 0 sees all, and so does cross-attention."""
    activation: Activation = "relu"
    """Inside the position-wise network; swiglu has three matrices there, not two."""
    dropout: float = 0.1
    """On each sub-layer's output and on embeddings + positions (section 5.4)."""
    inner_dropout: float = 0.0
    """Inside the position-wise network too: not in the paper, and good for small data."""
    norm: Literal["post", "pre"] = "post"
    """norm(x + Sublayer(x)) as in the paper, or x + Sublayer(norm(x)), which needs no long warm-up."""
    norm_kind: NormKind = "layer"
    groups: int = 8
    """Groups of a group norm."""
    positions: PositionKind = "sinusoidal"
    longest: int = 1024
    """How many places learned positions have; the others know no limit."""

    def __post_init__(self) -> None:
        if min(self.width, self.inner, self.heads, self.groups, self.longest) < 1:
            raise ValueError("width, inner, heads, groups and longest are at least 1")
        if min(self.key_width, self.value_width, self.neighbourhood) < 0:
            raise ValueError("key_width, value_width and neighbourhood are not negative")
        if self.width % self.heads and not (self.key_width and self.value_width):
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if self.norm_kind == "group" and self.width % self.groups:
            raise ValueError(f"width {self.width} is not a multiple of groups {self.groups}")
        if self.positions == "rotary" and self.attention == "additive":
            raise ValueError('positions = "rotary" turn queries and keys, which only a product of them can read')
        if self.positions == "rotary" and self.each_head.key_width % 2:
            raise ValueError(f'positions = "rotary" turn pairs: key_width {self.each_head.key_width} is odd')
        for rate in (self.dropout, self.inner_dropout):
            if not 0 <= rate < 1:
                raise ValueError(f"dropout {rate} is not in [0, 1)")

    @property
    def each_head(self) -> Heads:
        share = self.width // self.heads
        return Heads(
            count=self.heads,
            key_width=self.key_width or share,
            value_width=self.value_width or share,
            comparison=self.attention,
            normed=self.query_norm,
        )


class Embedding(nn.Module):
    """√width times the vector of the piece, plus its position, with dropout (sections 3.4, 3.5, 5.4)."""

    def __init__(self, size: int, config: StackConfig) -> None:
        super().__init__()
        self.vectors = vectors(size, config.width)
        self.positions = Positions(config.positions, config.width, config.longest)
        self.dropout = Dropout(config.dropout)

    def forward(self, pieces: Tensor, start: int = 0) -> Tensor:  # (batch, length, width)
        scaled = self.vectors(pieces) * math.sqrt(self.vectors.embedding_dim)
        dropped: Tensor = self.dropout(scaled + self.positions(start, pieces.shape[1], pieces.device))
        return dropped


class Residual(nn.Module):
    """A sub-layer with its short cut, dropout and normalisation (sections 3.1 and 5.4)."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.norm = norm(config.norm_kind, config.width, config.groups)
        self.dropout = Dropout(config.dropout)
        self.before = config.norm == "pre"

    def forward(self, inputs: Tensor, places: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.before:
            return self.dropout.onto(inputs, sublayer(self.norm(inputs, places)))
        normed: Tensor = self.norm(self.dropout.onto(inputs, sublayer(inputs)), places)
        return normed


def feed_forward(config: StackConfig, gain: float) -> FeedForward:
    return ACTIVATIONS[config.activation](config.width, config.inner, config.inner_dropout, gain=gain)


def small_gain(config: StackConfig, sublayers: int) -> float:
    """Without a norm after each sum, every sum adds variance: sub-layers begin smaller (Radford et al. 2019, 2.3)."""
    return 1.0 if config.norm == "post" and config.norm_kind != "none" else sublayers**-0.5


def last_norm(config: StackConfig) -> nn.Module:
    """With the norm before each sub-layer, nothing has normalised the last sum yet."""
    return NoNorm() if config.norm == "post" else norm(config.norm_kind, config.width, config.groups)
