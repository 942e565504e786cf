"""Continuations of a prefix of one sentence: the best output after each of the likeliest next tokens."""

from collections.abc import Sequence

import torch

from tongsa.batch import TokenIds, append_eos, pad
from tongsa.decoding.batches import SearchBatch
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.constraints import OutputConstraints
from tongsa.decoding.engines.torch import TorchEngine
from tongsa.decoding.request import DecodeRequest
from tongsa.tokenization.special import EOS


@torch.inference_mode()
def continuations(
    engine: TorchEngine, source: TokenIds, prefix: Sequence[int], request: DecodeRequest, count: int
) -> list[list[Hypothesis]]:
    """Return an n-best list for each of the `count` likeliest tokens after the prefix; none if it is too long."""
    max_length = min(len(source) + 1 + request.config.max_extra_tokens, engine.max_positions - 1)
    if not len(source) or len(prefix) > max_length:
        return []
    scores = engine.next_token_scores(pad([append_eos(source)]), prefix, request.config)
    if not prefix:
        scores[EOS] = -torch.inf  # an empty output is not a continuation
    if len(prefix) == max_length:
        scores[EOS + 1 :] = -torch.inf
    likeliest = scores.topk(min(count, len(scores)))
    prefixes = [(*prefix, int(token)) for score, token in zip(*likeliest, strict=True) if score > -torch.inf]
    if not prefixes:
        return []
    constraints = [OutputConstraints(tokens) for tokens in prefixes]
    return engine.decode(SearchBatch([[append_eos(source)] * len(prefixes)], constraints=constraints), request)
