"""Settings that all Transformers share: width, heads, attention, norms, positions."""

from dataclasses import dataclass
from typing import Any, Literal

from tongsa.config import Fraction, NonNegative, Positive, check_ranges
from tongsa.interface import PresetName
from tongsa.nn.attention import AttentionScore
from tongsa.nn.feed_forward import Activation
from tongsa.nn.multi_head import HeadConfig
from tongsa.nn.norms import NormKind
from tongsa.nn.positions import PositionKind


@dataclass(frozen=True, kw_only=True)
class TransformerStackConfig:
    """The defaults are those of the base model of Vaswani et al. (2017)."""

    width: Positive = 512
    """Width of the embeddings and of every layer's output (d_model)."""
    ffn_width: Positive = 2048
    """Width of the hidden layer of the feed-forward network (d_ff)."""
    heads: Positive = 8
    """Attention heads of every layer (h)."""
    key_width: NonNegative = 0
    """Width of each head's queries and keys (d_k); 0 is width / heads."""
    value_width: NonNegative = 0
    """Width of each head's values (d_v); 0 is width / heads."""
    attention: AttentionScore = "scaled-dot"
    """q·k/√d_k as in the paper; q·k; or v·tanh(q + k), which is slower."""
    qk_norm: bool = False
    """Normalize each head's queries and keys before the dot product (Henry et al. 2020, section 3; here RMSNorm with a
    learned scale). Attention is learned sooner, and its scores stay bounded."""
    attention_window: NonNegative = 0
    """Window size of self-attention (section 4, "restricted"); 0 is no window. In the encoder the window is centered on
    the query; an even one has one more position on the left. In the decoder it ends at the query. Cross-attention
    always sees the whole source."""
    activation: Activation = "relu"
    """Activation of the feed-forward network; swiglu has three matrices, the others two."""
    dropout: Fraction = 0.1
    """On the output of each sub-layer and on embeddings + positions (section 5.4)."""
    ffn_dropout: Fraction = 0.0
    """Also inside the feed-forward network: not in the paper, and useful for small data."""
    norm: Literal["post", "pre"] = "post"
    """norm(x + sublayer(x)) as in the paper, or x + sublayer(norm(x)), which needs no long warm-up."""
    norm_kind: NormKind = "layer"
    """Normalization; layer is the paper's."""
    groups: Positive = 8
    """Groups of a group norm."""
    positions: PositionKind = "sinusoidal"
    """Positional encoding; sinusoidal is the paper's (section 3.5), rotary that of Su et al. (2021)."""
    max_positions: Positive = 1024
    """Number of learned position embeddings; the other kinds have no limit."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % self.heads and not (self.key_width and self.value_width):
            raise ValueError(
                f"width {self.width}: not a multiple of heads {self.heads}. "
                "Change one of them, or set key_width and value_width."
            )
        if self.norm_kind == "group" and self.width % self.groups:
            raise ValueError(f"width {self.width}: not a multiple of groups {self.groups}. Change one of them.")
        if self.positions == "rotary" and self.attention == "additive":
            raise ValueError('positions = "rotary": needs a dot product. Use attention = "scaled-dot" or "dot".')
        if self.positions == "rotary" and self.head_config.key_width % 2:
            raise ValueError(
                f'positions = "rotary": key_width {self.head_config.key_width} is odd. Use an even key_width.'
            )

    @property
    def head_config(self) -> HeadConfig:
        width = self.width // self.heads
        return HeadConfig(
            count=self.heads,
            key_width=self.key_width or width,
            value_width=self.value_width or width,
            score_function=self.attention,
            qk_norm=self.qk_norm,
        )


def stack_preset(name: PresetName) -> dict[str, Any]:
    """Return the settings that the presets of all Transformers share."""
    return {"heads": 8 if name == "large" else 4, "dropout": 0.15 if name == "medium" else 0.1, "norm": "pre"}
