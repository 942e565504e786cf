"""The encoder of the Transformer (Vaswani et al. 2017, section 3.1)."""

from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.layers.multi_head import SelfAttention
from tongsa.layers.restricted import around
from tongsa.models.parts.stack import Embedding, Residual, StackConfig, feed_forward, last_norm, small_gain


class EncoderLayer(nn.Module):
    def __init__(self, config: StackConfig, layers: int) -> None:
        super().__init__()
        gain = small_gain(config, 2 * layers)
        self.attention = SelfAttention(
            config.width,
            config.each_head,
            "encoder",
            gain=gain,
            span=around(config.neighbourhood) if config.neighbourhood else None,
            rotary=config.positions == "rotary",
        )
        self.feed_forward = feed_forward(config, gain)
        self.around_attention = Residual(config)
        self.around_feed_forward = Residual(config)

    def forward(self, inputs: Tensor, places: Tensor) -> Tensor:
        read = self.around_attention(inputs, places, lambda values: self.attention(values, places))
        outputs: Tensor = self.around_feed_forward(read, places, self.feed_forward)
        return outputs


class Encoder(nn.Module):
    def __init__(self, embedding: Embedding, config: StackConfig, layers: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(EncoderLayer(config, layers) for _ in range(layers))
        self.norm = last_norm(config)

    def forward(self, source: Padded) -> Memory:
        places = source.mask
        slots = self.embedding(source.pieces)
        for layer in self.layers:
            slots = layer(slots, places)
        return Memory(self.norm(slots, places), places)
