"""Search over many texts: batches of similar length, in parallel threads, by the fast engine or by torch."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from tongsa.batch import Indices, Padded
from tongsa.decoding.batches import Capacity, EncodedTexts, SearchBatch, assign_to_threads, make_batches
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.continuous_batching import BATCHES_PER_CAPACITY
from tongsa.decoding.engines.engine import Engine, supports_all
from tongsa.decoding.engines.torch import TorchEngine
from tongsa.decoding.request import DecodeRequest
from tongsa.torch_threads import parallel_map


@dataclass(frozen=True)
class BatchSearch:
    engine: Engine | None
    """Runs the searches that it supports; torch runs the others."""
    torch_engine: TorchEngine
    batch_tokens: int
    """Maximum number of source tokens in a batch."""
    vocab_size: int
    """Number of target tokens."""

    def run(self, encoded: EncodedTexts, request: DecodeRequest) -> dict[int, list[Hypothesis]]:
        """Return the n-best list of each text that is not empty, by index; a list is empty if no output is allowed."""
        threads = self._threads(request)
        unconstrained = not (request.sampling or request.observer or encoded.constraints)
        batches = self._make_batches(encoded, request, threads, unconstrained=unconstrained)
        if self.engine and unconstrained:
            search = partial(self._search_with_engine, request=request)
        else:
            sampler = request.sampling.build() if request.sampling else None
            search = partial(self.torch_engine.decode, request=request, sampler=sampler)
        nbest_lists: dict[int, list[Hypothesis]] = {}
        for batch, outputs in zip(batches, parallel_map(search, batches, threads), strict=True):
            nbest_lists |= dict(zip(batch.indices.tolist(), outputs, strict=True))
        return nbest_lists

    def _threads(self, request: DecodeRequest) -> int:
        # one thread: an observer sees one step at a time, and the same seed draws the same samples
        one_thread = bool(request.sampling or request.observer) or self.torch_engine.device.type != "cpu"
        return 1 if one_thread else torch.get_num_threads()

    def _make_batches(
        self, encoded: EncodedTexts, request: DecodeRequest, threads: int, *, unconstrained: bool
    ) -> list[SearchBatch]:
        """Make batches of texts sorted by length, so that they have little padding. Empty texts are left out."""
        lengths, config = encoded.lengths, request.config
        order = np.argsort(-lengths, kind="stable")
        order = order[encoded.tokens.lengths[order] > 0]
        candidates_per_sentence = max(config.beam, request.nbest) * self.vocab_size
        capacity = Capacity.for_candidates(self.batch_tokens, candidates_per_sentence)
        groups: list[list[Indices]]
        if self.engine and unconstrained and supports_all(self.engine, lengths[order], config):
            groups = [[order]]  # the engine makes batches itself
        elif (
            not self.engine
            and unconstrained
            and config.supports_continuous_batching
            and self.torch_engine.device.type == "cpu"  # not measured on other devices
        ):
            small = make_batches(lengths, order, capacity.divide(BATCHES_PER_CAPACITY), threads=threads)
            groups = assign_to_threads(small, lengths, threads)
        else:
            groups = [[batch] for batch in make_batches(lengths, order, capacity, threads=threads)]
        return [encoded.batch(group, capacity) for group in groups]

    def _search_with_engine(self, batch: SearchBatch, request: DecodeRequest) -> list[list[Hypothesis]]:
        (source,) = batch.pad(self.torch_engine.device)
        return self.search(source, request.config, request.nbest)

    def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """Return the best `nbest` hypotheses of each sentence; torch searches what the engine does not support."""
        if not (self.engine and self.engine.supports(source, config)):
            return self.torch_engine.search(source, config, nbest)
        hypotheses = self.engine.search(source, config, nbest)
        if rows := [row for row, nbest_list in enumerate(hypotheses) if not nbest_list]:
            for row, by_torch in zip(rows, self.torch_engine.search(source.select(rows), config, nbest), strict=True):
                hypotheses[row] = by_torch
        return hypotheses
