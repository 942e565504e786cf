"""Initial weights as in other implementations, in place of those that the layers give themselves."""

from torch import nn

from tongsa.interface import EncoderDecoder
from tongsa.models.transformer.config import Initialization
from tongsa.models.transformer.decoder import TransformerDecoder


def initialize(model: EncoderDecoder, initialization: Initialization) -> EncoderDecoder:
    """Draw the weights again if the layers' own initial weights are not wanted, and return the model.

    The layers start as `xavier` or `scaled-xavier`; the difference is the gain of some of them (`residual_gain`).
    """
    for module in model.modules():
        if initialization == "torch" and isinstance(module, nn.Linear):
            nn.Linear.reset_parameters(module)  # weights and biases from U(-1/√inputs, 1/√inputs)
        elif initialization == "torch" and isinstance(module, nn.Embedding):
            module.reset_parameters()  # N(0, 1)
        elif initialization == "xavier-all" and isinstance(module, nn.Embedding):
            nn.init.xavier_uniform_(module.weight)
    if initialization == "torch" and isinstance(model.decoder, TransformerDecoder):
        _reset_output_layer(model.decoder)
    return model


def _reset_output_layer(decoder: TransformerDecoder) -> None:
    """Draw an output layer that is not tied as nn.Linear does; a tied one is an embedding table."""
    bound = decoder.output_embedding.embedding_dim**-0.5
    if decoder.output_embedding is not decoder.embedding.token_embedding:
        nn.init.uniform_(decoder.output_embedding.weight, -bound, bound)
    if decoder.output_bias is not None:
        nn.init.uniform_(decoder.output_bias, -bound, bound)
