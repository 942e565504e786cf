"""The kinds of model, one file for each paper. The laws in tests/laws run over KINDS.

A kind of your own needs no line here: `model.kind = "package.module:Config"` (docs/own-kind.md).
"""

from tongsa.interface import ModelConfig
from tongsa.models.bytenet import ByteNetConfig
from tongsa.models.conv_s2s import ConvS2SConfig
from tongsa.models.rnn import RNNConfig
from tongsa.models.rnn_attention import RNNAttentionConfig
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.structured_self_attention import StructuredSelfAttentionConfig
from tongsa.models.transformer.classifier import TransformerClassifierConfig
from tongsa.models.transformer.language_model import TransformerLMConfig
from tongsa.models.transformer.seq2seq import TransformerConfig

KINDS: dict[str, type[ModelConfig]] = {
    "rnn_attention": RNNAttentionConfig,
    "bytenet": ByteNetConfig,
    "conv_s2s": ConvS2SConfig,
    "rnn_lm": RNNLMConfig,
    "rnn": RNNConfig,
    "structured_self_attention": StructuredSelfAttentionConfig,
    "transformer": TransformerConfig,
    "transformer_classifier": TransformerClassifierConfig,
    "transformer_lm": TransformerLMConfig,
}
