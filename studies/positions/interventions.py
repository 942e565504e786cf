"""Interventions on a trained model: its positions shifted, or compressed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from tongsa.decoding.translator import Translator
from tongsa.nn import multi_head, positions
from tongsa.nn.positions import PositionalEncoding

CONTEXT = 512
"""Positions of the compressed tables."""


@contextmanager
def changed_positions(
    translator: Translator, encode: Callable[[PositionalEncoding], Any], shift: int
) -> Iterator[None]:
    """Replace the added encodings of a model, and shift the rotations of a rotary one."""
    rotate = positions.apply_rotary
    with ExitStack() as stack:
        for module in translator.model.modules():
            if isinstance(module, PositionalEncoding):
                stack.enter_context(patch.object(module, "forward", encode(module)))
        stack.enter_context(
            patch.object(multi_head, "apply_rotary", lambda values, start: rotate(values, start + shift))
        )
        yield


def shift_positions(shift: int) -> Callable[[PositionalEncoding], Any]:
    def encode(module: PositionalEncoding) -> Any:
        original = module.forward
        return lambda start, length, device: original(start + shift, length, device)

    return encode


def compress_positions(factor: float) -> Callable[[PositionalEncoding], Any]:
    """Encode position p as factor · p, between two neighbours of the table (Chen et al. 2023 on rotary encodings)."""

    def encode(module: PositionalEncoding) -> Any:
        fractional = torch.arange(CONTEXT) * factor
        below, share = fractional.long(), (fractional % 1).unsqueeze(1)
        table = module.forward(0, CONTEXT + 1, torch.device("cpu")).detach()
        compressed = table[below] * (1 - share) + table[below + 1] * share

        def forward(start: int | Tensor, length: int, _device: torch.device) -> Tensor:
            return compressed[start.unsqueeze(1)] if isinstance(start, Tensor) else compressed[start : start + length]

        return forward

    return encode


def exact_matches(translator: Translator, pairs: Sequence[tuple[str, str]]) -> list[bool]:
    outputs = translator.translate([source for source, _ in pairs])
    return [output.text == target for output, (_, target) in zip(outputs, pairs, strict=True)]


def percentage(hits: Sequence[bool]) -> float:
    return 100 * sum(hits) / max(1, len(hits))
