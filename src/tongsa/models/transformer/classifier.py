"""A text classifier: the encoder of the Transformer (Vaswani et al. 2017), mean pooling, one label."""

from dataclasses import dataclass

from tongsa.config import Positive
from tongsa.interface import EncoderDecoder, Task
from tongsa.models.pooled_classifier import PooledClassifier, mean_pool
from tongsa.models.transformer.config import TransformerStackConfig
from tongsa.models.transformer.embedding import TransformerEmbedding
from tongsa.models.transformer.encoder import TransformerEncoder


@dataclass(frozen=True, kw_only=True)
class TransformerClassifierConfig(TransformerStackConfig):
    layers: Positive = 6
    """Layers (N)."""
    hidden: Positive = 512
    """Width of the hidden layer between the mean of the slots and the labels."""

    @property
    def task(self) -> Task:
        return "classification"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        embedding = TransformerEmbedding(source_vocab_size, self)
        classifier = PooledClassifier(mean_pool, self.width, self.hidden, target_vocab_size, self.dropout)
        encoder = TransformerEncoder(embedding, self, self.layers)
        return EncoderDecoder(encoder, classifier, embedding.positional_encoding.max_positions)
