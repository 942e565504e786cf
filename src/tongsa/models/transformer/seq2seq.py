"""Attention Is All You Need (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin 2017)."""

from dataclasses import dataclass
from typing import Literal

from tongsa.config import Positive
from tongsa.interface import EncoderDecoder, Task
from tongsa.models.transformer.config import TransformerStackConfig
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.models.transformer.embedding import TransformerEmbedding
from tongsa.models.transformer.encoder import TransformerEncoder
from tongsa.nn.output import embedding_table


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(TransformerStackConfig):
    """The defaults are the paper's base model: 44,138,496 + 512·V parameters."""

    encoder_layers: Positive = 6
    """Layers of the encoder (N)."""
    decoder_layers: Positive = 6
    """Layers of the decoder (N)."""
    tie_embeddings: Literal["all", "target", "none"] = "all"
    """One matrix for source, target and output (section 3.4); for target and output; or three."""

    @property
    def task(self) -> Task:
        return "seq2seq"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        if self.tie_embeddings == "all" and source_vocab_size != target_vocab_size:
            raise ValueError(
                'tie_embeddings = "all": needs one vocabulary for both sides. Set tokenizer.shared = true.'
            )
        source_embedding = TransformerEmbedding(source_vocab_size, self)
        target_embedding = (
            source_embedding if self.tie_embeddings == "all" else TransformerEmbedding(target_vocab_size, self)
        )
        output_embedding = (
            embedding_table(target_vocab_size, self.width)
            if self.tie_embeddings == "none"
            else target_embedding.token_embedding
        )
        return EncoderDecoder(
            TransformerEncoder(source_embedding, self, self.encoder_layers),
            TransformerDecoder(target_embedding, output_embedding, self, self.decoder_layers),
            source_embedding.positional_encoding.max_positions,
        )


BASE = TransformerConfig()
BIG = TransformerConfig(width=1024, ffn_width=4096, heads=16, dropout=0.3)
