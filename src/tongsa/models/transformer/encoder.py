"""The encoder of the Transformer (Vaswani et al. 2017, section 3.1)."""

from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.models.transformer.config import (
    SublayerConnection,
    TransformerEmbedding,
    TransformerStackConfig,
    build_feed_forward,
    build_final_norm,
    residual_gain,
)
from tongsa.nn.local_attention import centered_window
from tongsa.nn.multi_head import SelfAttention


class TransformerEncoderLayer(nn.Module):
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
        self.feed_forward = build_feed_forward(config, gain)
        self.self_attention_norm = SublayerConnection(config)
        self.feed_forward_norm = SublayerConnection(config)

    def forward(self, inputs: Tensor, padding_mask: Tensor) -> Tensor:
        read = self.self_attention_norm(inputs, padding_mask, lambda values: self.self_attention(values, padding_mask))
        outputs: Tensor = self.feed_forward_norm(read, padding_mask, self.feed_forward)
        return outputs


class TransformerEncoder(nn.Module):
    def __init__(self, embedding: TransformerEmbedding, config: TransformerStackConfig, num_layers: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(TransformerEncoderLayer(config, num_layers) for _ in range(num_layers))
        self.final_norm = build_final_norm(config)

    def forward(self, source: Padded) -> Memory:
        places = source.mask
        slots = self.embedding(source.tokens)
        for layer in self.layers:
            slots = layer(slots, places)
        return Memory(self.final_norm(slots, places), places)
