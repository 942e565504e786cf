"""Attention Is All You Need (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin 2017)."""

from dataclasses import dataclass
from typing import Literal

from tongsa.config import Positive
from tongsa.interface import EncoderDecoder, Task
from tongsa.models.transformer.config import TransformerEmbedding, TransformerStackConfig
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.models.transformer.encoder import TransformerEncoder
from tongsa.nn.output import embedding_table


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(TransformerStackConfig):
    """The defaults are the paper's base model: 44,138,496 + 512·V parameters."""

    encoder_layers: Positive = 6
    decoder_layers: Positive = 6
    tie_embeddings: Literal["all", "target", "none"] = "all"
    """One matrix for source, target and output (section 3.4); for target and output; or three."""

    @property
    def task(self) -> Task:
        return "seq2seq"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        if self.tie_embeddings == "all" and source_vocab_size != target_vocab_size:
            raise ValueError('share = "all" needs one vocabulary for both sides: set tokenizer.shared = true')
        inputs = TransformerEmbedding(source_vocab_size, self)
        outputs = inputs if self.tie_embeddings == "all" else TransformerEmbedding(target_vocab_size, self)
        output = (
            outputs.token_embedding if self.tie_embeddings != "none" else embedding_table(target_vocab_size, self.width)
        )
        return EncoderDecoder(
            TransformerEncoder(inputs, self, self.encoder_layers),
            TransformerDecoder(outputs, output, self, self.decoder_layers),
            inputs.positional_encoding.max_positions,
        )


BASE = TransformerConfig()
BIG = TransformerConfig(width=1024, ffn_width=4096, heads=16, dropout=0.3)
