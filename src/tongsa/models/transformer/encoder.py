"""The encoder of the Transformer (Vaswani et al. 2017, section 3.1).

x: (batch, length, width)        padding_mask: (batch, length), True where there is a token
"""

from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.models.transformer.config import TransformerStackConfig
from tongsa.models.transformer.embedding import TransformerEmbedding
from tongsa.models.transformer.residual import ResidualDropout, SublayerNorm, build_final_norm, residual_gain
from tongsa.nn.feed_forward import build_feed_forward
from tongsa.nn.local_attention import centered_window
from tongsa.nn.multi_head import SelfAttention
from tongsa.nn.recording import record


class TransformerEncoderLayer(nn.Module):
    """Self-attention and feed-forward network, both residual."""

    def __init__(self, config: TransformerStackConfig, num_layers: int) -> None:
        super().__init__()
        gain = residual_gain(config, 2 * num_layers)
        self.self_attention = SelfAttention(
            config.width,
            config.head_config,
            "encoder",
            gain=gain,
            window=centered_window(config.attention_window) if config.attention_window else None,
            rotary=config.positions == "rotary",
        )
        self.feed_forward = build_feed_forward(
            config.activation, config.width, config.ffn_width, config.ffn_dropout, gain=gain
        )
        self.self_attention_norm = SublayerNorm(config)
        self.feed_forward_norm = SublayerNorm(config, self.self_attention_norm if config.shared_norm else None)
        self.dropout = ResidualDropout(config)

    def forward(self, x: Tensor, padding_mask: Tensor) -> Tensor:  # (batch, length, width)
        # connect(x, y) is x + dropout(y) in one pass
        norm = self.self_attention_norm
        y = self.self_attention(norm.before(x, padding_mask), padding_mask)
        x = record("residual.self_attention", self, self.dropout.connect(x, y), x=x, y=y)
        x = norm.after(x, padding_mask)

        norm = self.feed_forward_norm
        y = self.feed_forward(norm.before(x, padding_mask))
        x = record("residual.feed_forward", self, self.dropout.connect(x, y), x=x, y=y)
        return norm.after(x, padding_mask)


class TransformerEncoder(nn.Module):
    """A stack of layers; each token's output is a slot of the memory."""

    def __init__(self, embedding: TransformerEmbedding, config: TransformerStackConfig, num_layers: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(TransformerEncoderLayer(config, num_layers) for _ in range(num_layers))
        self.final_norm = build_final_norm(config, "encoder")

    def forward(self, source: Padded) -> Memory:
        padding_mask = source.mask
        x = self.embedding(source.tokens)
        for layer in self.layers:
            x = layer(x, padding_mask)
        return Memory(self.final_norm(x, padding_mask), padding_mask)
