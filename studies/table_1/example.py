"""The path from "i" to "사랑해" in "i love you" → "난 너를 사랑해", in steps of recurrent layers and of attention."""

import torch
from torch import Tensor

from studies.table_1.layers import reaches
from tongsa.nn.masks import key_mask
from tongsa.nn.multi_head import CrossAttention, HeadConfig
from tongsa.nn.rnn import RecurrentLayer

SOURCE, TARGET = ("i", "love", "you"), ("난", "너를", "사랑해")
WIDTH, HEADS = 16, 2


def recurrent_path(seed: int) -> int:
    """Return the number of recurrent states that every path from "i" to "사랑해" passes.

    The encoder's last state is the decoder's first one, as in Sutskever et al. (2014). A state is on every path if the
    gradient is zero once that state is treated as a constant.
    """
    torch.manual_seed(seed)
    encoder, decoder = (RecurrentLayer(WIDTH, WIDTH, "gru") for _ in range(2))
    source, target = torch.randn(len(SOURCE), 1, WIDTH), torch.randn(len(TARGET), 1, WIDTH)

    def last_output(first_word: Tensor, constant_state: int | None) -> Tensor:
        state, count = encoder.initial_state(1, source), 0
        words = [*zip([encoder] * len(SOURCE), [first_word, *source[1:]], strict=True)]
        words += zip([decoder] * len(TARGET), target, strict=True)
        for layer, word in words:
            state = layer.step(layer.project(word), state)
            state, count = state.detach() if count == constant_state else state, count + 1
        return state

    first_word = source[0].clone().requires_grad_()
    if not reaches(last_output(first_word, None), first_word):
        return 0
    states = range(len(SOURCE) + len(TARGET))
    return sum(not _reaches_or_constant(last_output(first_word, state), first_word) for state in states)


def _reaches_or_constant(output: Tensor, source: Tensor) -> bool:
    return output.requires_grad and reaches(output, source)


def attention_path(seed: int) -> int:
    """Return the number of attention layers needed until "사랑해" depends on "i", without any recurrent step."""
    torch.manual_seed(seed)
    heads = HeadConfig(count=HEADS, key_width=WIDTH // HEADS, value_width=WIDTH // HEADS)
    source, target = torch.randn(1, len(SOURCE), WIDTH), torch.randn(1, len(TARGET), WIDTH)
    first_word = source[:, :1].clone().requires_grad_()
    slots = torch.cat([first_word, source[:, 1:]], dim=1)
    mask = key_mask(torch.ones(1, len(SOURCE), dtype=torch.bool))
    outputs, count = target, 0
    while not _reaches_or_constant(outputs[:, -1], first_word):
        layer = CrossAttention(WIDTH, heads, gain=1.0)
        outputs, count = outputs + layer(outputs, layer.project_memory(slots), mask), count + 1
    return count
