"""What every stack of a Transformer shares: settings, embeddings, and what surrounds a sub-layer."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from tongsa.config import Fraction, NonNegative, Positive, check_ranges
from tongsa.nn.attention import AttentionScore
from tongsa.nn.dropout import Dropout
from tongsa.nn.feed_forward import ACTIVATIONS, Activation, FeedForward
from tongsa.nn.multi_head import HeadConfig
from tongsa.nn.norms import NoNorm, NormKind, build_norm
from tongsa.nn.output import embedding_table
from tongsa.nn.positions import PositionalEncoding, PositionKind


@dataclass(frozen=True, kw_only=True)
class TransformerStackConfig:
    """The defaults are those of the base model of Vaswani et al. (2017)."""

    width: Positive = 512
    """Width of the embeddings and of every layer's output (d_model)."""
    ffn_width: Positive = 2048
    """Width inside the position-wise network (d_ff)."""
    heads: Positive = 8
    key_width: NonNegative = 0
    """Width of each head's queries and keys (d_k); 0 is width / heads."""
    value_width: NonNegative = 0
    """Width of each head's values (d_v); 0 is width / heads."""
    attention: AttentionScore = "scaled-dot"
    """q·k/√d_k as in the paper; q·k; or v·tanh(q + k), which is slower."""
    qk_norm: bool = False
    """Whether each head's queries and keys are normalised before they are compared (Henry et al. 2020, section 3, here
    by their root mean square with a learned scale): attention is learnt sooner, and cannot grow without bound."""
    attention_window: NonNegative = 0
    """How many places self-attention sees (section 4): in an encoder those around each place, of an even number one
    more to the left; in a decoder the last ones, its own included. 0 sees all, and so does cross-attention."""
    activation: Activation = "relu"
    """Inside the position-wise network; swiglu has three matrices there, not two."""
    dropout: Fraction = 0.1
    """On each sub-layer's output and on embeddings + positions (section 5.4)."""
    ffn_dropout: Fraction = 0.0
    """Inside the position-wise network too: not in the paper, and good for small data."""
    norm: Literal["post", "pre"] = "post"
    """norm(x + Sublayer(x)) as in the paper, or x + Sublayer(norm(x)), which needs no long warm-up."""
    norm_kind: NormKind = "layer"
    groups: Positive = 8
    """Groups of a group norm."""
    positions: PositionKind = "sinusoidal"
    max_positions: Positive = 1024
    """How many places learned positions have; the others know no limit."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % self.heads and not (self.key_width and self.value_width):
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if self.norm_kind == "group" and self.width % self.groups:
            raise ValueError(f"width {self.width} is not a multiple of groups {self.groups}")
        if self.positions == "rotary" and self.attention == "additive":
            raise ValueError('positions = "rotary" turn queries and keys, which only a product of them can read')
        if self.positions == "rotary" and self.head_config.key_width % 2:
            raise ValueError(f'positions = "rotary" turn pairs: key_width {self.head_config.key_width} is odd')

    @property
    def head_config(self) -> HeadConfig:
        share = self.width // self.heads
        return HeadConfig(
            count=self.heads,
            key_width=self.key_width or share,
            value_width=self.value_width or share,
            score_function=self.attention,
            qk_norm=self.qk_norm,
        )


class TransformerEmbedding(nn.Module):
    """√width times the vector of the piece, plus its position, with dropout (sections 3.4, 3.5, 5.4)."""

    def __init__(self, vocab_size: int, config: TransformerStackConfig) -> None:
        super().__init__()
        self.token_embedding = embedding_table(vocab_size, config.width)
        self.positional_encoding = PositionalEncoding(config.positions, config.width, config.max_positions)
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:  # (batch, length, width)
        scaled = self.token_embedding(tokens) * math.sqrt(self.token_embedding.embedding_dim)
        dropped: Tensor = self.dropout(scaled + self.positional_encoding(start, tokens.shape[1], tokens.device))
        return dropped


class SublayerConnection(nn.Module):
    """A sub-layer with its short cut, dropout and normalisation (sections 3.1 and 5.4)."""

    def __init__(self, config: TransformerStackConfig) -> None:
        super().__init__()
        self.norm = build_norm(config.norm_kind, config.width, config.groups)
        self.dropout = Dropout(config.dropout)
        self.pre_norm = config.norm == "pre"

    def forward(self, inputs: Tensor, padding_mask: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return self.dropout.add_residual(inputs, sublayer(self.norm(inputs, padding_mask)))
        normed: Tensor = self.norm(self.dropout.add_residual(inputs, sublayer(inputs)), padding_mask)
        return normed


def build_feed_forward(config: TransformerStackConfig, gain: float) -> FeedForward:
    return ACTIVATIONS[config.activation](config.width, config.ffn_width, config.ffn_dropout, gain=gain)


def residual_gain(config: TransformerStackConfig, sublayers: int) -> float:
    """Without a norm after each sum, every sum adds variance: sub-layers begin smaller (Radford et al. 2019, 2.3)."""
    return 1.0 if config.norm == "post" and config.norm_kind != "none" else sublayers**-0.5


def build_final_norm(config: TransformerStackConfig) -> nn.Module:
    """With the norm before each sub-layer, nothing has normalised the last sum yet."""
    return NoNorm() if config.norm == "post" else build_norm(config.norm_kind, config.width, config.groups)
