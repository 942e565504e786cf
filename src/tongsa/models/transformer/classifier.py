"""A text classifier: the encoder of the Transformer (Vaswani et al. 2017), mean pooling, one label."""

from dataclasses import dataclass
from typing import Any

from tongsa.config import Layers, Width
from tongsa.interface import EncoderDecoder, PresetName, Task
from tongsa.models.pooled_classifier import PooledClassifier, mean_pool
from tongsa.models.transformer.config import TransformerStackConfig, stack_preset
from tongsa.models.transformer.embedding import TransformerEmbedding
from tongsa.models.transformer.encoder import TransformerEncoder
from tongsa.models.transformer.initialization import initialize

PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"width": 128, "ffn_width": 384, "layers": 4, "hidden": 128},
    "small": {"width": 192, "ffn_width": 512, "layers": 4, "hidden": 192},
    "short": {"width": 256, "ffn_width": 512, "layers": 6, "hidden": 256},
    "medium": {"width": 320, "ffn_width": 1280, "layers": 5, "hidden": 320},
    "large": {"width": 512, "ffn_width": 2048, "layers": 12, "hidden": 512},
}


@dataclass(frozen=True, kw_only=True)
class TransformerClassifierConfig(TransformerStackConfig):
    layers: Layers = 6
    """Layers (N)."""
    hidden: Width = 512
    """Width of the hidden layer between the mean of the slots and the labels."""

    @property
    def task(self) -> Task:
        return "classification"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        return {"model": PRESETS[name] | stack_preset(name)}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        embedding = TransformerEmbedding(source_vocab_size, self)
        classifier = PooledClassifier(mean_pool, self.width, self.hidden, target_vocab_size, self.dropout)
        encoder = TransformerEncoder(embedding, self, self.layers)
        model = EncoderDecoder(encoder, classifier, embedding.positional_encoding.max_positions)
        return initialize(model, self.initialization)
