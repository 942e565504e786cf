"""A language model of self-attention: the decoder of the Transformer (Vaswani et al. 2017) with nothing to read.

This is the stack of Radford et al. (2018) with the choices of the first paper; with `norm = "pre"`, `activation =
"gelu"` and `positions = "learned"` it is close to that of Radford et al. (2019), whose vectors are not times √width.
"""

from dataclasses import dataclass
from typing import Literal

from tongsa.config import Positive
from tongsa.interface import EncoderDecoder, Task
from tongsa.models.rnn_lm import EmptyEncoder
from tongsa.models.transformer.config import TransformerEmbedding, TransformerStackConfig
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.nn.output import embedding_table


@dataclass(frozen=True, kw_only=True)
class TransformerLMConfig(TransformerStackConfig):
    layers: Positive = 6
    tie_embeddings: Literal["target", "none"] = "target"
    """One matrix for the vectors of pieces and the output (section 3.4), or two."""

    @property
    def task(self) -> Task:
        return "language_model"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:  # noqa: ARG002 - no source is read
        embedding = TransformerEmbedding(target_vocab_size, self)
        output = (
            embedding.token_embedding
            if self.tie_embeddings == "target"
            else embedding_table(target_vocab_size, self.width)
        )
        decoder = TransformerDecoder(embedding, output, self, self.layers, with_cross_attention=False)
        return EncoderDecoder(EmptyEncoder(self.width), decoder, embedding.positional_encoding.max_positions)
