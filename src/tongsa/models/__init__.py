"""One file for each paper, and the table of them. The laws in tests/laws run over this table."""

from tongsa.interface import Config
from tongsa.models.additive import AdditiveConfig
from tongsa.models.convolutional import ConvolutionalConfig
from tongsa.models.language_model import LanguageModelConfig
from tongsa.models.recurrent import RecurrentConfig
from tongsa.models.self_attentive import SelfAttentiveConfig
from tongsa.models.transformer import TransformerConfig
from tongsa.models.transformer_classifier import TransformerClassifierConfig
from tongsa.models.transformer_language_model import TransformerLanguageModelConfig

KINDS: dict[str, type[Config]] = {
    "additive": AdditiveConfig,
    "convolutional": ConvolutionalConfig,
    "language_model": LanguageModelConfig,
    "recurrent": RecurrentConfig,
    "self_attentive": SelfAttentiveConfig,
    "transformer": TransformerConfig,
    "transformer_classifier": TransformerClassifierConfig,
    "transformer_language_model": TransformerLanguageModelConfig,
}
