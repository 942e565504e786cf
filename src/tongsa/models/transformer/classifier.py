"""The encoder of the Transformer (Vaswani et al. 2017), whose slots are read as one label."""

from dataclasses import dataclass

from tongsa.config import Positive
from tongsa.interface import EncoderDecoder, Task
from tongsa.models.pooled_classifier import PooledClassifier, mean_pool
from tongsa.models.transformer.config import TransformerEmbedding, TransformerStackConfig
from tongsa.models.transformer.encoder import TransformerEncoder


@dataclass(frozen=True, kw_only=True)
class TransformerClassifierConfig(TransformerStackConfig):
    layers: Positive = 6
    hidden: Positive = 512
    """Units between the mean of the slots and the label."""

    @property
    def task(self) -> Task:
        return "classification"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        embedding = TransformerEmbedding(source_vocab_size, self)
        reader = PooledClassifier(mean_pool, self.width, self.hidden, target_vocab_size, self.dropout)
        return EncoderDecoder(
            TransformerEncoder(embedding, self, self.layers), reader, embedding.positional_encoding.max_positions
        )
