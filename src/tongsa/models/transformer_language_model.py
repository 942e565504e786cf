"""A language model of self-attention: the decoder of the Transformer (Vaswani et al. 2017) with nothing to read.

This is the stack of Radford et al. (2018) with the choices of the first paper; with `norm = "pre"`, `activation =
"gelu"` and `positions = "learned"` it is close to that of Radford et al. (2019), whose vectors are not times √width.
"""

from dataclasses import dataclass
from typing import Literal

from tongsa.interface import EncoderDecoder, Task
from tongsa.layers.linear import vectors
from tongsa.models.language_model import Encoder
from tongsa.models.parts.decoder import Decoder
from tongsa.models.parts.stack import Embedding, StackConfig


@dataclass(frozen=True, kw_only=True)
class TransformerLanguageModelConfig(StackConfig):
    layers: int = 6
    share: Literal["target", "none"] = "target"
    """One matrix for the vectors of pieces and the output (section 3.4), or two."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 1:
            raise ValueError("layers is at least 1")

    @property
    def task(self) -> Task:
        return "text"

    def build(self, source: int, target: int) -> EncoderDecoder:  # noqa: ARG002 - no source is read
        embedding = Embedding(target, self)
        output = embedding.vectors if self.share == "target" else vectors(target, self.width)
        decoder = Decoder(embedding, output, self, self.layers, reads=False)
        return EncoderDecoder(Encoder(self.width), decoder, embedding.positions.longest)
