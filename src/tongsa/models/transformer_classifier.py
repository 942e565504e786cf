"""The encoder of the Transformer (Vaswani et al. 2017), whose slots are read as one label."""

from dataclasses import dataclass

from tongsa.interface import EncoderDecoder, Task
from tongsa.models.classifier import Classifier, mean
from tongsa.models.parts.encoder import Encoder
from tongsa.models.parts.stack import Embedding, StackConfig


@dataclass(frozen=True, kw_only=True)
class TransformerClassifierConfig(StackConfig):
    layers: int = 6
    hidden: int = 512
    """Units between the mean of the slots and the label."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.layers, self.hidden) < 1:
            raise ValueError("layers and hidden are at least 1")

    @property
    def task(self) -> Task:
        return "labels"

    def build(self, source: int, target: int) -> EncoderDecoder:
        embedding = Embedding(source, self)
        reader = Classifier(mean, self.width, self.hidden, target, self.dropout)
        return EncoderDecoder(Encoder(embedding, self, self.layers), reader, embedding.positions.longest)
