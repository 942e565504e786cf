"""The plainest beam search: one sentence, no cache, no batch, no shortcut. What every engine must agree with."""

import torch

from tiny import padded
from tongsa.decoding.search import SearchConfig
from tongsa.interface import EncoderDecoder
from tongsa.text import BOS, EOS, PAD

Scored = tuple[list[int], float]
"""Pieces without <s> and </s>, and their normalised score."""


@torch.no_grad()
def reference(model: EncoderDecoder, source: list[int], limit: int, config: SearchConfig) -> list[Scored]:
    """All hypotheses that a beam finishes, best first."""
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[Scored] = []
    while alive and len(finished) < config.beam:
        grown = []
        for total, pieces in alive:
            logs = model(padded(source), padded([BOS, *pieces]))[0, -1].float().log_softmax(0).tolist()
            allowed = [EOS] if len(pieces) == limit else [at for at in range(len(logs)) if at not in (PAD, BOS)]
            grown += [(total + logs[piece], [*pieces, piece]) for piece in allowed]
        grown = sorted(grown, key=lambda one: -one[0])
        ended = [one for one in grown[: config.beam] if one[1][-1] == EOS]
        finished += [(pieces[:-1], total / config.penalty(len(pieces))) for total, pieces in ended]
        alive = [one for one in grown if one[1][-1] != EOS][: config.beam]
    return sorted(finished, key=lambda one: -one[1])
