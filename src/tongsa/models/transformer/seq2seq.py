"""Attention Is All You Need (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin 2017)."""

from dataclasses import dataclass
from typing import Any, Literal

from tongsa.config import Layers
from tongsa.interface import EncoderDecoder, PresetName, Task
from tongsa.models.transformer.config import DecoderCell, DecoderStack, TransformerStackConfig, stack_preset
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.models.transformer.embedding import TransformerEmbedding
from tongsa.models.transformer.encoder import TransformerEncoder
from tongsa.models.transformer.initialization import initialize
from tongsa.nn.output import embedding_table

PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"width": 128, "ffn_width": 384, "encoder_layers": 2, "decoder_layers": 1, "tie_embeddings": "target"},
    "small": {"width": 192, "ffn_width": 512, "encoder_layers": 2, "decoder_layers": 2},
    "short": {"width": 256, "ffn_width": 512, "encoder_layers": 3, "decoder_layers": 1, "tie_embeddings": "none"},
    "medium": {"width": 256, "ffn_width": 1024, "encoder_layers": 4, "decoder_layers": 2, "tie_embeddings": "target"},
    "large": {"width": 512, "ffn_width": 2048, "encoder_layers": 6, "decoder_layers": 6},
}


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(TransformerStackConfig):
    """The defaults are the paper's base model: 44,138,496 + 512·V parameters."""

    encoder_layers: Layers = 6
    """Layers of the encoder (N)."""
    decoder_layers: Layers = 6
    """Layers of the decoder (N)."""
    tie_embeddings: Literal["all", "target", "none"] = "all"
    """One matrix for source, target and output (section 3.4); for target and output; or three."""
    decoder_cell: DecoderCell = "attention"
    """First sub-layer of a decoder layer: self-attention as in the paper, or the SSRU of Kim et al. (2019), whose step
    costs the same at every position. `attention_window` and rotary positions are then those of the encoder alone."""
    tie_decoder_layers: bool = False
    """All decoder layers have the same weights: fewer parameters, as many operations. (Dehghani et al. 2019, section 2,
    share the weights of both stacks over the depth.)"""
    output_bias: bool = False
    """Bias of the output layer, as in many implementations; the paper shares a matrix alone (section 3.4)."""

    @property
    def task(self) -> Task:
        return "seq2seq"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset, to which those of the other kinds are fitted."""
        return {"model": PRESETS[name] | stack_preset(name)}

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
        encoder = TransformerEncoder(source_embedding, self, self.encoder_layers)
        decoder = TransformerDecoder(
            target_embedding,
            output_embedding,
            self,
            DecoderStack(
                num_layers=self.decoder_layers,
                cell=self.decoder_cell,
                tie_layers=self.tie_decoder_layers,
                output_bias=self.output_bias,
            ),
        )
        model = EncoderDecoder(encoder, decoder, source_embedding.positional_encoding.max_positions)
        return initialize(model, self.initialization)


BASE = TransformerConfig()
BIG = TransformerConfig(width=1024, ffn_width=4096, heads=16, dropout=0.3)
