"""What a caller asks of the search beyond its settings, and how the one search is made to answer it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from tongsa.decoding.beam_search import Hypothesis, beam_search
from tongsa.decoding.beams import Beams, SearchObserver, SearchStrategy, Selection, topk_selection
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import PhraseAutomaton, dynamic_beam_allocation, satisfiable_phrases
from tongsa.decoding.rules import diverse_beam_selection, forced_prefix, rules_from_config, sampling_selection
from tongsa.decoding.sampling import Sampler
from tongsa.decoding.scorers import Scorer
from tongsa.interface import DecoderState
from tongsa.tokenization.special import BOS, PAD

TokenIds = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class DecodeRequest:
    """For each sentence of a batch, or for all of them; what is empty asks for nothing."""

    prefixes: Sequence[TokenIds] = ()
    """Each output begins with these pieces."""
    phrases: Sequence[Sequence[TokenIds]] = ()
    """Each output holds these runs of pieces; one that is given twice, twice."""
    sampler: Sampler | None = None
    """Outputs are drawn, not searched for."""
    observer: SearchObserver | None = None
    """Who is told of every step."""

    def __bool__(self) -> bool:
        return any(map(len, self.prefixes)) or any(map(len, self.phrases)) or bool(self.sampler or self.observer)

    def repeat_interleave(self, repeats: int) -> "DecodeRequest":
        """The same for every sentence so many times, one behind the other."""
        return replace(
            self,
            prefixes=[one for one in self.prefixes for _ in range(repeats)],
            phrases=[one for one in self.phrases for _ in range(repeats)],
        )

    @property
    def required_tokens(self) -> Iterator[int]:
        """All that an output is asked to hold."""
        yield from chain.from_iterable(self.prefixes)
        yield from chain.from_iterable(chain.from_iterable(self.phrases))

    def to_subset(self, vocab_subset: TokenIds) -> "DecodeRequest":
        """The same for a search that knows pieces by their places among these."""
        place = {piece: at for at, piece in enumerate(vocab_subset)}
        return replace(
            self,
            prefixes=[[place[piece] for piece in prefix] for prefix in self.prefixes],
            phrases=[[[place[piece] for piece in phrase] for phrase in each] for each in self.phrases],
        )


EMPTY_REQUEST = DecodeRequest()


def decode(
    scorer: Scorer[Any],
    state: DecoderState,
    max_lengths: Tensor,
    config: DecodingConfig,
    nbest: int,
    request: DecodeRequest = EMPTY_REQUEST,
) -> list[list[Hypothesis]]:
    """The best `nbest` of each sentence, or so many draws.

    Groups of a diverse beam and draws are sentences of their own to the search. Of phrases that do not fit into an
    output together those are asked for that `fitting` keeps.
    """
    copies = nbest if request.sampler else config.beam_groups
    if copies > 1:
        rows = torch.arange(len(max_lengths), device=max_lengths.device).repeat_interleave(copies)
        state, max_lengths, request = state.select(rows), max_lengths[rows], request.repeat_interleave(copies)
    beam = 1 if request.sampler else config.beam // config.beam_groups
    own = replace(config, beam=beam, beam_groups=1)
    choice = _selection(config, request, beam, max_lengths.tolist())
    eager = frozenset(at for at, phrases in enumerate(request.phrases) if phrases)
    guide = SearchStrategy(_rules(config, request), choice, request.observer, eager)
    found = beam_search(scorer, state, max_lengths, own, nbest=min(nbest, beam), strategy=guide)
    return [
        _merge_nbest(found[at : at + copies], nbest, deduplicate=not request.sampler)
        for at in range(0, len(found), copies)
    ]


@torch.inference_mode()
def next_token_scores(
    scorer: Scorer[Any], state: DecoderState, prefix_tokens: Tensor, config: DecodingConfig
) -> Tensor:  # (piece,)
    """What each piece, </s> included, counts behind a beginning (piece,) of the only sentence of a state."""
    prefix = torch.cat([prefix_tokens.new_tensor([BOS]), prefix_tokens])
    for piece in prefix:
        logs, state = scorer(piece.view(1), state)
    zeros = logs.new_zeros(1, 1)
    own = zeros.expand(1, 1, len(prefix))
    beams = Beams([0], zeros, zeros, prefix.view(1, 1, -1), own, zeros.view(1, 1, 1), [0])
    counted = logs.unsqueeze(0)  # (sentence, hypothesis, piece)
    for rule in rules_from_config(config):
        counted = rule(counted, beams)
    return counted[0, 0].index_fill(0, prefix_tokens.new_tensor([PAD, BOS]), -torch.inf)


def _rules(config: DecodingConfig, request: DecodeRequest) -> tuple[Any, ...]:
    return (*rules_from_config(config), *([forced_prefix(request.prefixes)] if any(map(len, request.prefixes)) else []))


def _selection(config: DecodingConfig, request: DecodeRequest, beam: int, max_lengths: list[int]) -> Selection | None:
    if request.sampler:
        return sampling_selection(request.sampler)
    choice = _constrained_selection(request, beam, max_lengths) if any(map(len, request.phrases)) else None
    return (
        diverse_beam_selection(choice or topk_selection(beam), config.beam_groups, config.diversity_penalty)
        if config.beam_groups > 1
        else choice
    )


def _constrained_selection(request: DecodeRequest, beam: int, max_lengths: list[int]) -> Selection:
    prefixes = request.prefixes or [()] * len(max_lengths)
    wanted = [_phrase_automaton(*each) for each in zip(request.phrases, prefixes, max_lengths, strict=True)]
    return dynamic_beam_allocation(beam, wanted, max_lengths, [len(prefix) for prefix in prefixes])


def _phrase_automaton(phrases: Sequence[TokenIds], prefix: TokenIds, max_length: int) -> PhraseAutomaton | None:
    """The phrases that one output shall hold."""
    kept = satisfiable_phrases(phrases, prefix, max_length)
    return PhraseAutomaton(phrases[at] for at in kept) if kept else None


def _merge_nbest(nbest_lists: list[list[Hypothesis]], nbest: int, *, deduplicate: bool) -> list[Hypothesis]:
    """One list of several, best first; what two groups have both found stands once."""
    every = sorted((one for found in nbest_lists for one in found), key=lambda one: -one.score)
    once = {tuple(one.tokens): one for one in reversed(every)} if deduplicate else {}
    return sorted(once.values(), key=lambda one: -one.score)[:nbest] if deduplicate else every
