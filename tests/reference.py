"""The plainest beam search: one sentence, no cache, no batch, no shortcut. What every engine must agree with."""

import torch

from tiny import padded
from tongsa.decoding.config import DecodingConfig
from tongsa.interface import EncoderDecoder
from tongsa.tokenization.special import BOS, EOS, PAD

Scored = tuple[list[int], float]
"""Pieces without <s> and </s>, and their normalised score."""


@torch.no_grad()
def reference(model: EncoderDecoder, source: list[int], limit: int, config: DecodingConfig) -> list[Scored]:
    """The likeliest `beam` of those that finish until as many have, and the best candidate of a step; best first."""
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    settled = False
    while alive and not (settled and len(finished) >= config.beam):
        grown = []
        for total, pieces in alive:
            logs = model(padded(source), padded([BOS, *pieces]))[0, -1].float().log_softmax(0).tolist()
            allowed = [EOS] if len(pieces) == limit else [at for at in range(len(logs)) if at not in (PAD, BOS)]
            grown += [(total + logs[piece], [*pieces, piece]) for piece in allowed]
        grown = sorted(grown, key=lambda one: -one[0])
        settled = settled or grown[0][1][-1] == EOS
        finished += [one for one in grown[: config.beam] if one[1][-1] == EOS]
        alive = [one for one in grown if one[1][-1] != EOS][: config.beam]
    likeliest = sorted(finished, key=lambda one: -one[0])[: config.beam]
    scored = [(pieces[:-1], total / config.length_penalty(len(pieces))) for total, pieces in likeliest]
    return sorted(scored, key=lambda one: -one[1])
