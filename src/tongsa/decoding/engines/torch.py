"""The torch engine: beam search with the model itself, with all options of a request."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from tongsa.batch import Padded
from tongsa.decoding.batches import SearchBatch
from tongsa.decoding.beam_search import Hypothesis, beam_search
from tongsa.decoding.beams import Beams
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.continuous_batching import ContinuousBatcher
from tongsa.decoding.engines.torch_int8 import is_quantized
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.rules import rules_from_config
from tongsa.decoding.sampling import Sampler
from tongsa.decoding.scorers import (
    CombinedState,
    Scorer,
    decoder_scorer,
    ensemble_scorer,
    shallow_fusion_scorer,
    subset_scorer,
)
from tongsa.decoding.search_plan import SearchPlan
from tongsa.decoding.shortlist import Shortlist
from tongsa.interface import DecoderState, EncoderDecoder
from tongsa.tokenization.special import BOS, PAD


class TorchEngine:
    """Beam search with one model or an ensemble, and optionally a language model (shallow fusion)."""

    def __init__(
        self,
        models: Sequence[EncoderDecoder],
        max_positions: int,
        load_shortlist: Callable[[], Shortlist],
        load_continuing_tokens: Callable[[], frozenset[int]],
        language_model: EncoderDecoder | None = None,
        lm_weight: float = 0.0,
    ) -> None:
        self.name = "torch-int8" if is_quantized(models[0]) else "torch"
        self.models, self.max_positions, self.load_shortlist = tuple(models), max_positions, load_shortlist
        self.load_continuing_tokens = load_continuing_tokens
        self.language_model = language_model
        self.device = next(self.models[0].parameters()).device
        decoders = [model.decoder for model in self.models]
        self.scorer: Scorer[Any] = ensemble_scorer(decoders) if len(decoders) > 1 else decoder_scorer(decoders[0])
        if language_model is not None:
            self.scorer = shallow_fusion_scorer(self.scorer, decoder_scorer(language_model.decoder), lm_weight)

    def supports(self, source: Padded, config: DecodingConfig) -> bool:  # noqa: ARG002 - every request, see Engine
        return True

    def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """Return the best `nbest` hypotheses of each sentence, best first."""
        return self.decode(SearchBatch.from_padded(source), DecodeRequest(config=config, nbest=nbest))

    @torch.inference_mode()
    def decode(
        self, batch: SearchBatch, request: DecodeRequest, sampler: Sampler | None = None
    ) -> list[list[Hypothesis]]:
        """Return an n-best list for each sentence of a batch."""
        sources, constraints, scorer = batch.pad(self.device), batch.constraints, self.scorer
        continues_word = self.load_continuing_tokens() if constraints else frozenset()
        subset = self._vocab_subset(sources[0], batch, request)
        if subset is not None:  # from here to the end of the search a token is an index into the subset
            scorer = subset_scorer(scorer, subset)
            index_in_subset = {token: i for i, token in enumerate(subset.tolist())}
            constraints = [constraint.map_tokens(index_in_subset) for constraint in constraints]
            continues_word = frozenset(index_in_subset[token] for token in continues_word & index_in_subset.keys())

        def start(source: Padded) -> tuple[DecoderState, Tensor]:
            return self.start(source, subset), self.max_lengths(source, request.config)

        batcher = ContinuousBatcher(sources, batch.capacity, start)
        state, max_lengths = batcher.next_batch()
        plan = SearchPlan(request, max_lengths, constraints, sampler, continues_word)
        hypotheses = beam_search(
            scorer,
            plan.expand(state),
            plan.max_lengths,
            plan.config,
            nbest=plan.nbest,
            strategy=plan.strategy,
            refill=batcher,
        )
        nbest_lists = plan.merge(hypotheses)
        if subset is None:
            return nbest_lists
        tokens = subset.tolist()
        return [
            [hypothesis._replace(tokens=[tokens[i] for i in hypothesis.tokens]) for hypothesis in nbest]
            for nbest in nbest_lists
        ]

    def _vocab_subset(self, source: Padded, batch: SearchBatch, request: DecodeRequest) -> Tensor | None:  # (token,)
        """Return the tokens that are scored if a shortlist is used; an observer needs the whole vocabulary."""
        if not request.config.shortlist or request.observer:
            return None
        return self.load_shortlist().vocab_subset(source, batch.required_tokens)

    @torch.inference_mode()
    def next_token_scores(
        self, source: Padded, prefix_tokens: Sequence[int], config: DecodingConfig
    ) -> Tensor:  # (token,)
        """Return the log-probability after rules of each token, EOS included, after a prefix of one sentence."""
        prefix = torch.tensor([BOS, *prefix_tokens], device=self.device)  # (position,)
        state = self.start(source.to(self.device))
        for token in prefix:
            log_probs, state = self.scorer(token.view(1), state)
        zeros = log_probs.new_zeros(1, 1)
        beams = Beams(
            sentences=[0],
            log_probs=zeros,
            ranking_scores=zeros,
            tokens=prefix.view(1, 1, -1),
            token_log_probs=zeros.expand(1, 1, len(prefix)),
            coverage=zeros.view(1, 1, 1),
            left_padding=[0],
        )
        scores = log_probs.unsqueeze(0)  # (sentence, hypothesis, token)
        for rule in rules_from_config(config):
            scores = rule(scores, beams)
        return scores[0, 0].index_fill(0, torch.tensor([PAD, BOS], device=self.device), -torch.inf)

    def max_lengths(self, source: Padded, config: DecodingConfig) -> Tensor:  # (sentence,)
        """Return the largest number of tokens of each output, EOS not counted."""
        return (source.lengths + config.max_extra_tokens).clamp(max=self.max_positions - 1)

    def start(self, source: Padded, vocab_subset: Tensor | None = None) -> DecoderState:
        """Return the decoder state before the first token, for the whole vocabulary or a subset of it."""
        states = tuple(model.decoder.start(model.encoder(source), vocab_subset) for model in self.models)
        state: DecoderState = CombinedState(states) if len(states) > 1 else states[0]
        if self.language_model is not None:
            lm_memory = self.language_model.encoder(source)
            state = CombinedState((state, self.language_model.decoder.start(lm_memory, vocab_subset)))
        return state
