"""The engine torch-int8: torch with the linear layers of a model in 8 bits (nn/int8_linear.py)."""

from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.nn import int8_linear
from tongsa.nn.linear import Linear


def quantize_model(model: EncoderDecoder) -> None:
    """Compute all linear layers and the output layer of a frozen model in 8 bits; its weights stay in memory, too."""
    if not int8_linear.is_supported() or model.decoder.output.weight.device.type != "cpu":
        raise InputError("engine torch-int8: needs a CPU with VNNI instructions. Use --engine torch.")
    for module in model.modules():
        if isinstance(module, Linear):
            int8_linear.quantize(module.weight)
    int8_linear.quantize(model.decoder.output.weight)


def is_quantized(model: EncoderDecoder) -> bool:
    return any(int8_linear.quantized_weight(parameter) is not None for parameter in model.parameters())
