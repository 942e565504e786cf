"""Attention Is All You Need (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin 2017)."""

from dataclasses import dataclass
from typing import Literal

from tongsa.interface import EncoderDecoder, Task
from tongsa.layers.linear import vectors
from tongsa.models.parts.decoder import Decoder
from tongsa.models.parts.encoder import Encoder
from tongsa.models.parts.stack import Embedding, StackConfig


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(StackConfig):
    """The defaults are the paper's base model: 44,138,496 + 512·V parameters."""

    encoder_layers: int = 6
    decoder_layers: int = 6
    share: Literal["all", "target", "none"] = "all"
    """One matrix for source, target and output (section 3.4); for target and output; or three."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.encoder_layers, self.decoder_layers) < 1:
            raise ValueError("encoder_layers and decoder_layers are at least 1")

    @property
    def task(self) -> Task:
        return "pairs"

    def build(self, source: int, target: int) -> EncoderDecoder:
        if self.share == "all" and source != target:
            raise ValueError('share = "all" needs one vocabulary for both sides: set pieces.shared = true')
        inputs = Embedding(source, self)
        outputs = inputs if self.share == "all" else Embedding(target, self)
        output = outputs.vectors if self.share != "none" else vectors(target, self.width)
        return EncoderDecoder(
            Encoder(inputs, self, self.encoder_layers),
            Decoder(outputs, output, self, self.decoder_layers),
            inputs.positions.longest,
        )


BASE = TransformerConfig()
BIG = TransformerConfig(width=1024, inner=4096, heads=16, dropout=0.3)
