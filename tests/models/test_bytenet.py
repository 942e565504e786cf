"""ByteNet (Kalchbrenner et al. 2016) against the equations and numbers of its paper, by hand."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from tiny import SIZE, padded_batch, sentence
from tongsa.interface import EncoderDecoder, Memory
from tongsa.models.bytenet import ByteNetBlock, ByteNetConfig, dilations
from tongsa.nn.norms import LayerNorm
from tongsa.tokenization.special import BOS


def test_the_dilation_doubles_up_to_a_limit_and_starts_again() -> None:
    """Section 3.5; section 6 has 30 blocks in sets of five with the rates 1, 2, 4, 8 and 16."""
    assert dilations(ByteNetConfig().encoder_layers, ByteNetConfig().max_dilation) == [1, 2, 4, 8, 16] * 6
    assert dilations(4, 1) == [1, 1, 1, 1]
    assert dilations(5, 6) == [1, 2, 4, 1, 2]


@torch.no_grad()
def test_a_block_is_figure_3() -> None:
    torch.manual_seed(0)
    config = ByteNetConfig(width=6, hidden=4)
    inputs = torch.randn(2, 9, 6)
    for left in (1, 2):  # centered in the encoder, masked in the decoder
        block = ByteNetBlock(config, 3, left, dilation=2, gain=1.0)
        for parameter in block.parameters():
            nn.init.normal_(parameter)
        parts = block.convolution

        def activate(norm: LayerNorm, x: Tensor) -> Tensor:
            return F.relu(F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias))

        x = F.linear(activate(parts.input_norm, inputs), parts.input_projection.weight, parts.input_projection.bias)
        x = F.pad(activate(parts.window_norm, x).mT, (2 * left, 2 * (2 - left)))
        projection = parts.window_convolution.projection
        x = F.conv1d(x, projection.weight.view(4, 3, 4).mT, projection.bias, dilation=2).mT
        x = F.linear(activate(parts.output_norm, x), parts.output_projection.weight, parts.output_projection.bias)
        assert_close(block(inputs, torch.ones(2, 9, dtype=torch.bool)), inputs + x)


def build(**settings: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    return ByteNetConfig(width=16, hidden=32, **settings).build(SIZE, SIZE).double().eval()


def positions_read(values: Tensor, inputs: Tensor) -> list[int]:
    """Return the positions of inputs (1, position, width) that the values depend on."""
    (gradient,) = torch.autograd.grad(values.sum(), inputs, retain_graph=True)
    return gradient[0].abs().sum(dim=1).nonzero().flatten().tolist()


def test_five_blocks_of_kernel_three_see_31_tokens_to_each_side() -> None:
    """1 + 2 + 4 + 8 + 16 = 31: a path of five layers, where undilated convolutions would need 31."""
    model = build(encoder_layers=5, decoder_layers=1)
    embedded = torch.randn(1, 80, 16, dtype=torch.double, requires_grad=True)
    x, mask = embedded, torch.ones(1, 80, dtype=torch.bool)
    for layer in model.get_submodule("encoder.layers").children():
        x = layer(x, mask)
    assert positions_read(x[0, 40], embedded) == list(range(40 - 31, 40 + 31 + 1))


def test_dynamic_unfolding_reads_slot_t_at_step_t_and_nothing_after_the_last() -> None:
    """Section 3.2: what a step reads of the source are the slots up to its own position."""
    model = build(encoder_layers=1, decoder_layers=3, max_dilation=4, decoder_kernel=3)
    slots = torch.randn(1, 5, 16, dtype=torch.double, requires_grad=True)
    memory = Memory(slots, torch.tensor([[True, True, True, True, False]]))  # four tokens and padding
    logits = model.decoder(padded_batch([BOS, *sentence(7)]), memory)
    for step in range(8):
        assert positions_read(logits[0, step], slots) == list(range(min(step + 1, 4)))


def test_parameters_of_the_paper_sizes() -> None:
    """Section 6: 30 + 30 blocks, d = 800, kernel 3; embeddings of 2d."""
    d, vocab_size = 800, 300
    block = 2 * d * d + d + 3 * d * d + d + d * 2 * d + 2 * d + 2 * (2 * d + d + d)  # three convolutions, three norms
    readout = 2 * d * 2 * d + 2 * d + 2 * 2 * d
    with torch.device("meta"):
        model = ByteNetConfig().build(vocab_size, vocab_size)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == 60 * block + readout + 3 * vocab_size * 2 * d + vocab_size
