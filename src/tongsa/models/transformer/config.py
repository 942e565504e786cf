"""Settings that all Transformers share: width, heads, attention, norms, positions."""

from dataclasses import dataclass, field
from typing import Any, Literal

from tongsa.config import (
    Fraction,
    Heads,
    OptionalPositionCount,
    OptionalWidth,
    PositionCount,
    Width,
    check_ranges,
)
from tongsa.interface import PresetName
from tongsa.nn.attention import AttentionScore
from tongsa.nn.feed_forward import Activation
from tongsa.nn.multi_head import HeadConfig
from tongsa.nn.norms import NormKind
from tongsa.nn.positions import PositionKind, SinusoidConfig

Initialization = Literal["scaled-xavier", "xavier", "xavier-all", "torch"]
FinalNorm = Literal["auto", "both", "decoder", "none"]
DecoderCell = Literal["attention", "ssru"]


@dataclass(frozen=True, kw_only=True)
class TransformerStackConfig:
    """The defaults are those of the base model of Vaswani et al. (2017)."""

    width: Width = 512
    """Width of the embeddings and of every layer's output (d_model)."""
    ffn_width: Width = 2048
    """Width of the hidden layer of the feed-forward network (d_ff)."""
    heads: Heads = 8
    """Attention heads of every layer (h)."""
    key_width: OptionalWidth = 0
    """Width of each head's queries and keys (d_k); 0 is width / heads."""
    value_width: OptionalWidth = 0
    """Width of each head's values (d_v); 0 is width / heads."""
    attention: AttentionScore = "scaled-dot"
    """q·k/√d_k as in the paper; q·k; or v·tanh(q + k), which is slower."""
    qk_norm: bool = False
    """Normalize each head's queries and keys before the dot product (Henry et al. 2020, section 3; here RMSNorm with a
    learned scale). Attention is learned sooner, and its scores stay bounded."""
    attention_window: OptionalPositionCount = 0
    """Window size of self-attention (section 4, "restricted"); 0 is no window. In the encoder the window is centered on
    the query; an even one has one more position on the left. In the decoder it ends at the query. Cross-attention
    always sees the whole source."""
    projection_bias: bool = True
    """Biases of the projections of queries, keys, values and heads; the paper's equations have none (section 3.2.2).
    The bias of the keys has no effect: it adds the same number to all scores of a query."""
    activation: Activation = "relu"
    """Activation of the feed-forward network; swiglu has three matrices, the others two."""
    dropout: Fraction = 0.1
    """On the output of each sub-layer and on embeddings + positions (section 5.4)."""
    ffn_dropout: Fraction = 0.0
    """Also inside the feed-forward network: not in the paper, and useful for small data."""
    attention_dropout: Fraction = 0.0
    """Also on attention weights: not in the paper, but in most implementations. Training then stores all weights."""
    norm: Literal["post", "pre"] = "post"
    """norm(x + sublayer(x)) as in the paper, or x + sublayer(norm(x)), which needs no long warm-up."""
    norm_kind: NormKind = "layer"
    """Normalization; layer is the paper's."""
    groups: Width = 8
    """Groups of a group norm."""
    final_norm: FinalNorm = "auto"
    """Norm at the end of a stack. auto: of both stacks with pre-norm, whose last sum is not normalized yet; of none
    with post-norm. both: also with post-norm, as in torch.nn.Transformer. decoder: of the decoder alone; each decoder
    layer then normalizes the memory itself, with the norm of its cross-attention, as in kh-kim/simple-nmt."""
    shared_norm: bool = False
    """One norm for all sub-layers of a layer, as in bentrevett/pytorch-seq2seq before April 2020."""
    residual: bool = True
    """Residual connections (section 3.1). Without them a sub-layer replaces its input."""
    scale_embeddings: bool = True
    """Multiply token embeddings by √width (section 3.4)."""
    positions: PositionKind = "sinusoidal"
    """Positional encoding; sinusoidal is the paper's (section 3.5), rotary that of Su et al. (2021)."""
    sinusoid: SinusoidConfig = field(default_factory=SinusoidConfig)
    """Formula of sinusoidal positions: the table [model.sinusoid]."""
    max_positions: PositionCount = 1024
    """Number of learned position embeddings; the other kinds have no limit."""
    initialization: Initialization = "scaled-xavier"
    """xavier: uniform matrices (Glorot and Bengio 2010), zero biases, embeddings from N(0, 1/√width). scaled-xavier:
    with pre-norm, the last matrix of each of N sub-layers is also divided by √N (Radford et al. 2019, section 2.3).
    xavier-all: Xavier embeddings too. torch: the defaults of nn.Linear and nn.Embedding, embeddings from N(0, 1)."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % self.heads and not (self.key_width and self.value_width):
            raise ValueError(
                f"width {self.width}: not a multiple of heads {self.heads}. "
                "Change one of them, or set key_width and value_width."
            )
        if self.final_norm == "decoder" and self.norm != "pre":
            raise ValueError('final_norm = "decoder": needs pre-norm. Set norm = "pre", or final_norm = "auto".')
        if self.norm_kind == "batch" and (self.shared_norm or self.final_norm == "decoder"):
            raise ValueError(
                'norm_kind = "batch": its statistics cannot be shared by several norms. '
                'Use norm_kind = "layer", or shared_norm = false and final_norm = "auto".'
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
            dropout=self.attention_dropout,
            bias=self.projection_bias,
        )


@dataclass(frozen=True, kw_only=True)
class DecoderStack:
    """Layers of a decoder, beyond the settings that encoder and decoder share."""

    num_layers: int
    with_cross_attention: bool = True
    cell: DecoderCell = "attention"
    """First sub-layer of each layer: self-attention or an SSRU."""
    tie_layers: bool = False
    """All layers have the parameters of the first."""
    output_bias: bool = False


def stack_preset(name: PresetName) -> dict[str, Any]:
    """Return the settings that the presets of all Transformers share."""
    return {"heads": 8 if name == "large" else 4, "dropout": 0.15 if name == "medium" else 0.1, "norm": "pre"}
