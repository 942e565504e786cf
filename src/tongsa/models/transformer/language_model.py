"""A Transformer language model: the decoder of Vaswani et al. (2017) without cross-attention.

This is the stack of Radford et al. (2018) with the settings of the first paper. With `norm = "pre"`, `activation =
"gelu"`, `positions = "learned"` and `scale_embeddings = false` it is that of Radford et al. (2019).
"""

from dataclasses import dataclass
from typing import Any, Literal

from tongsa.config import Layers
from tongsa.interface import EncoderDecoder, PresetName, Task
from tongsa.models.rnn_lm import EmptyEncoder
from tongsa.models.transformer.config import DecoderStack, TransformerStackConfig, stack_preset
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.models.transformer.embedding import TransformerEmbedding
from tongsa.models.transformer.initialization import initialize
from tongsa.nn.output import embedding_table

PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"width": 128, "ffn_width": 384, "layers": 4},
    "small": {"width": 192, "ffn_width": 512, "layers": 4},
    "short": {"width": 256, "ffn_width": 512, "layers": 6},
    "medium": {"width": 320, "ffn_width": 1280, "layers": 5},
    "large": {"width": 512, "ffn_width": 2048, "layers": 12},
}


@dataclass(frozen=True, kw_only=True)
class TransformerLMConfig(TransformerStackConfig):
    layers: Layers = 6
    """Layers (N)."""
    tie_embeddings: Literal["target", "none"] = "target"
    """One matrix for embeddings and output (section 3.4), or two."""

    @property
    def task(self) -> Task:
        return "language_model"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        return {"model": PRESETS[name] | stack_preset(name)}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:  # noqa: ARG002 - there is no source
        embedding = TransformerEmbedding(target_vocab_size, self)
        tied = self.tie_embeddings == "target"
        output_embedding = embedding.token_embedding if tied else embedding_table(target_vocab_size, self.width)
        stack = DecoderStack(num_layers=self.layers, with_cross_attention=False)
        decoder = TransformerDecoder(embedding, output_embedding, self, stack)
        model = EncoderDecoder(EmptyEncoder(self.width), decoder, embedding.positional_encoding.max_positions)
        return initialize(model, self.initialization)
