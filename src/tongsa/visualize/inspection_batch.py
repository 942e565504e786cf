"""Batches of an inspection: pairs of a file as padded batches, and one recorded forward pass of a batch.

Dropout is switched on by itself: all other layers, batch norms too, stay in evaluation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tongsa.batch import Batch, batch_by_tokens
from tongsa.data.corpus import CorpusError, read_pairs, read_texts
from tongsa.data.file_format import no_pairs_message
from tongsa.data.ledger import Ledger, Pair
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.nn.dropout import Dropout, seed_dropout
from tongsa.nn.recording import AttentionRole, Recorder, observe
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.visualize.panels import AnyTextModel
from tongsa.visualize.trace_tensors import TraceTensor, join_steps

Array = NDArray[np.float64]
BATCH_TOKENS = 1024
"""Tokens of a batch, padding included: all tensors of a batch are in memory at once."""


def read_data(
    files: Sequence[str | Path], model: AnyTextModel, count: int, *, columns: tuple[int, int], header: bool
) -> list[Pair]:
    """Return the first pairs of files, or texts for a language model."""
    if not files:
        raise InputError("inspect: data names no file. Give a file of pairs or texts.")
    ledger = Ledger(None)
    read = read_texts if model.task == "language_model" else read_pairs
    languages = model.info.source_language, model.info.target_language
    records = read(files, ledger, columns=columns, languages=languages, header=header, encoding="auto")
    pairs = list(islice(records, count))
    if not pairs:
        raise CorpusError(no_pairs_message(str(files[0]), ledger, "Give a file of pairs, one on each line."))
    return pairs


def keep_short_pairs(pairs: Sequence[Pair], models: Sequence[AnyTextModel]) -> list[Pair]:
    """Return the pairs that every model can process."""
    short = [pair for pair in pairs if all(_fits(model, pair) for model in models)]
    if not short:
        limit = min(model.max_positions for model in models) - 1
        raise InputError(
            f"{pairs[0].file}: all {len(pairs)} sentences have more than {limit} tokens, the longest input of a model. "
            "Give a file with shorter sentences."
        )
    return short


def _fits(model: AnyTextModel, pair: Pair) -> bool:
    sides: list[tuple[Tokenizer, str]] = [(model.source_tokenizer, pair.source)]
    if model.task != "classification":  # a label is always one token
        sides.append((model.target_tokenizer, pair.target))
    return all(len(tokenizer.encode_all([text])[0]) < model.max_positions for tokenizer, text in sides)


def make_batches(model: AnyTextModel, pairs: Sequence[Pair]) -> list[Batch]:
    """Return the pairs in their order as padded batches."""
    examples = model.encode_pairs([(pair.source, pair.target) for pair in pairs])
    order = np.arange(len(pairs))
    return [examples.batch(rows).to(model.device) for rows in batch_by_tokens(examples.lengths, order, BATCH_TOKENS)]


class BatchRecorder(Recorder):
    """A recorder that also keeps the attention weights by role."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.weights: dict[AttentionRole, list[Tensor]] = {}

    def attention(self, role: AttentionRole, weights: Tensor) -> None:
        self.weights.setdefault(role, []).append(weights)


@dataclass(frozen=True)
class RecordedBatch:
    """A recorded forward pass of a padded batch."""

    batch: Batch
    slot_mask: NDArray[np.bool_]  # (batch, slot)
    tensors: Sequence[TraceTensor]
    weights: Mapping[AttentionRole, Sequence[Array]]
    """For each layer (batch, head, query, key)."""
    log_probs: Array  # (batch,)
    """Log-probability of each target, given its source."""


@torch.inference_mode()
def record_batch(model: EncoderDecoder, batch: Batch) -> RecordedBatch:
    """Run encoder and decoder on a batch, by teacher forcing, and record all tensors."""
    recorder = BatchRecorder(model)
    with observe(recorder):
        recorder.enter("encoder")
        memory = model.encoder(batch.source)
        recorder.enter("decoder")
        logits = model.decoder(batch.decoder_input, memory)
    log_probs = logits.double().log_softmax(dim=-1).gather(2, batch.target.tokens.unsqueeze(2)).squeeze(2)
    return RecordedBatch(
        batch=batch,
        slot_mask=memory.mask.cpu().numpy(),
        tensors=join_steps(recorder.tensors)[0],
        weights={role: [layer.double().cpu().numpy() for layer in layers] for role, layers in recorder.weights.items()},
        log_probs=log_probs.masked_fill(~batch.target.mask, 0).sum(dim=1).cpu().numpy(),
    )


@contextmanager
def dropout_on(model: nn.Module, seed: int) -> Iterator[None]:
    """Switch on dropout inside this block, with masks of this seed."""
    layers = [module for module in model.modules() if isinstance(module, Dropout)]
    for layer in layers:
        layer.train()
    try:
        with seed_dropout(seed):
            yield
    finally:
        for layer in layers:
            layer.eval()


def dropout_rates(model: nn.Module) -> list[float]:
    """Return the different dropout rates of a model."""
    return sorted({module.rate for module in model.modules() if isinstance(module, Dropout)})


def draw_seed(seed: int, draw: int, batch: int) -> int:
    """Return the seed of a draw of one batch."""
    return int(np.random.SeedSequence((seed, draw, batch)).generate_state(1, np.uint64)[0] >> 1)


def record_draws(
    model: EncoderDecoder, batch: Batch, seeds: Sequence[int], read: Callable[[RecordedBatch], None]
) -> None:
    """Record a batch without dropout, then with dropout for each seed; `read` gets one recording after the other."""
    read(record_batch(model, batch))
    for seed in seeds:
        with dropout_on(model, seed):
            read(record_batch(model, batch))
