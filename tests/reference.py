"""The reference beam search: one sentence, no cache, no batch, no early stopping. Every engine must agree with it."""

import torch

from tiny import padded_batch
from tongsa.decoding.config import DecodingConfig
from tongsa.interface import EncoderDecoder
from tongsa.tokenization.special import BOS, EOS, PAD

Scored = tuple[list[int], float]
"""Tokens without <s> and </s>, and their normalized score."""


@torch.no_grad()
def reference(model: EncoderDecoder, source: list[int], limit: int, config: DecodingConfig) -> list[Scored]:
    """Search until `beam` hypotheses are finished and </s> was once the best candidate; return them, best first."""
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    eos_was_best = False
    while alive and not (eos_was_best and len(finished) >= config.beam):
        candidates: list[tuple[float, list[int]]] = []
        for log_prob, tokens in alive:
            next_log_probs = (
                model(padded_batch(source), padded_batch([BOS, *tokens]))[0, -1].float().log_softmax(0).tolist()
            )
            allowed = [EOS] if len(tokens) == limit else [i for i in range(len(next_log_probs)) if i not in (PAD, BOS)]
            candidates += [(log_prob + next_log_probs[token], [*tokens, token]) for token in allowed]
        candidates.sort(key=lambda candidate: -candidate[0])
        eos_was_best = eos_was_best or candidates[0][1][-1] == EOS
        finished += [candidate for candidate in candidates[: config.beam] if candidate[1][-1] == EOS]
        alive = [candidate for candidate in candidates if candidate[1][-1] != EOS][: config.beam]
    best = sorted(finished, key=lambda candidate: -candidate[0])[: config.beam]
    scored = [(tokens[:-1], log_prob / config.length_penalty(len(tokens))) for log_prob, tokens in best]
    return sorted(scored, key=lambda hypothesis: -hypothesis[1])
