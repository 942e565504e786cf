"""Search over many texts: batches of similar length, in parallel threads, by the fast engine or by torch."""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from tongsa.batch import Indices, Padded
from tongsa.decoding.batches import Capacity, EncodedTexts, assign_to_threads, make_batches
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.continuous_batching import BATCHES_PER_CAPACITY
from tongsa.decoding.engines.engine import Engine, supports_all
from tongsa.decoding.engines.torch import TorchEngine
from tongsa.decoding.request import DecodeRequest
from tongsa.torch_threads import parallel_map, torch_threads


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
        order = np.argsort(-encoded.lengths, kind="stable")  # similar lengths have little padding
        order = order[encoded.tokens.lengths[order] > 0]
        candidates_per_sentence = max(request.config.beam, request.nbest) * self.vocab_size
        capacity = Capacity.for_candidates(self.batch_tokens, candidates_per_sentence)
        unconstrained = not (request.sampling or request.observer or encoded.constraints)
        nbest_lists: dict[int, list[Hypothesis]] = {}
        if self.engine and unconstrained:
            nbest_lists = _search_with_engine(self.engine, encoded, order, request, capacity)
            order = np.array([i for i in order.tolist() if i not in nbest_lists], dtype=order.dtype)
        return nbest_lists | self._search_with_torch(encoded, order, request, capacity, unconstrained=unconstrained)

    def _search_with_torch(
        self, encoded: EncodedTexts, order: Indices, request: DecodeRequest, capacity: Capacity, *, unconstrained: bool
    ) -> dict[int, list[Hypothesis]]:
        lengths, is_cpu = encoded.lengths, self.torch_engine.device.type == "cpu"
        # one thread: an observer sees one step at a time, and the same seed draws the same samples
        threads = 1 if request.sampling or request.observer or not is_cpu else torch.get_num_threads()
        groups: list[list[Indices]]
        if unconstrained and request.config.supports_continuous_batching and is_cpu:  # not measured on other devices
            small = make_batches(lengths, order, capacity.divide(BATCHES_PER_CAPACITY), threads=threads)
            groups = assign_to_threads(small, lengths, threads)
        else:
            groups = [[batch] for batch in make_batches(lengths, order, capacity, threads=threads)]
        batches = [encoded.batch(group, capacity) for group in groups]
        sampler = request.sampling.build() if request.sampling else None
        search = partial(self.torch_engine.decode, request=request, sampler=sampler)
        nbest_lists: dict[int, list[Hypothesis]] = {}
        rows = len(order) * (request.nbest if request.sampling else request.config.beam)
        # products of a single row are too small for several threads, which wait for each other after each product
        with torch_threads(1) if is_cpu and rows == 1 else nullcontext():
            for batch, outputs in zip(batches, parallel_map(search, batches, threads), strict=True):
                nbest_lists |= dict(zip(batch.indices.tolist(), outputs, strict=True))
        return nbest_lists


def _search_with_engine(
    engine: Engine, encoded: EncodedTexts, order: Indices, request: DecodeRequest, capacity: Capacity
) -> dict[int, list[Hypothesis]]:
    """Return the n-best lists of the texts that the engine can search; the others are left to torch."""
    threads = torch.get_num_threads()
    if supports_all(engine, encoded.lengths[order], request.config):
        groups = [order]  # the engine makes batches itself
    else:
        groups = make_batches(encoded.lengths, order, capacity, threads=threads)
    batches = [
        (batch, source)
        for batch in (encoded.batch([group], capacity) for group in groups)
        for source in batch.pad(torch.device("cpu"))
        if engine.supports(source, request.config)
    ]

    def search(source: Padded) -> list[list[Hypothesis]]:
        return engine.search(source, request.config, request.nbest)

    outputs = parallel_map(search, [source for _, source in batches], threads)
    return {
        index: nbest_list
        for (batch, _), nbest_lists in zip(batches, outputs, strict=True)
        for index, nbest_list in zip(batch.indices.tolist(), nbest_lists, strict=True)
        if len(nbest_list) >= request.nbest
    }
