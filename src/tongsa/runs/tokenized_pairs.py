"""Training pairs as token ids: encoded once with all cores, kept as arrays that can be in files."""

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.batch import Examples, Ragged
from tongsa.data.array_files import ArrayFiles
from tongsa.data.ledger import RATIO_SLACK_TOKENS, Ledger, LengthLimits
from tongsa.data.prepared_folder import content_key
from tongsa.data.text_store import PairStore
from tongsa.runs.preparation import Preparation
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.training.data_loader import prefetch

ENCODED_BLOCK_PAIRS = 20_000
"""Pairs that are encoded together; after each block an interrupted preparation can go on."""
MAX_UINT16_TOKENS = 1 << 16
SIDES = ("source", "target")
Lengths = NDArray[np.integer[Any]]


class EncodedBlock(NamedTuple):
    """Token ids of consecutive pairs."""

    start: int
    source: Ragged
    target: Ragged


class PairTokenizer(NamedTuple):
    """Tokenizers of both sides and the limits of the lengths."""

    source: SubwordTokenizer
    target: Tokenizer
    limits: LengthLimits
    appends_eos: bool

    @property
    def key(self) -> str:
        """Hash of all that determines the tokens of a pair."""
        models = [hashlib.sha256(tokenizer.model_bytes).hexdigest() for tokenizer in (self.source, self.target)]
        return content_key(models, self.source.jamo, self.limits.max_tokens, self.limits.max_length_ratio)

    def tokenize(self, pairs: PairStore, ledger: Ledger, preparation: Preparation) -> tuple[PairStore, Examples]:
        """Return the pairs within the length limits and their tokens; record the others in the ledger."""

        def fill(arrays: ArrayFiles) -> None:
            self._fill(pairs, arrays, preparation)

        preparation = preparation.for_pairs(pairs)
        arrays = preparation.prepare(f"tokens-{content_key('tokens', pairs.key, self.key)}", fill)
        for row, *lengths in arrays.read("dropped", np.int64).reshape(-1, 3).tolist():
            reason = self.limits.drop_reason(*lengths)
            assert reason is not None  # noqa: S101 - the limits are part of the key
            ledger.revoke(pairs[row], *reason)
        kept, source, target = arrays.read("kept", np.int64), *map(partial(self._read_side, arrays), SIDES)
        examples = Examples(source, target, self.appends_eos)
        return pairs if len(kept) == len(pairs) else pairs.select(kept), examples

    def _fill(self, pairs: PairStore, arrays: ArrayFiles, preparation: Preparation) -> None:
        start = arrays.restore_progress()
        ends = {}
        for side in SIDES:
            if not start:
                arrays.append(f"{side}.offsets", np.zeros(1, np.int64))
            ends[side] = int(arrays.read(f"{side}.offsets", np.int64)[-1]) if start else 0
        with preparation.display.for_steps(len(pairs), start) as display:
            for block in prefetch(self._encode_blocks(pairs, start), buffer_size=2):
                self._append(block, arrays, ends)
                done = block.start + len(block.source)
                arrays.save_progress(done)
                display.show(done, "tokenizing", f"{done:,} of {len(pairs):,} pairs")

    def _encode_blocks(self, pairs: PairStore, start: int) -> Iterator[EncodedBlock]:
        for i in range(start, len(pairs), ENCODED_BLOCK_PAIRS):
            rows = np.arange(i, min(i + ENCODED_BLOCK_PAIRS, len(pairs)))
            sources, targets = pairs.sources.take(rows), pairs.targets.take(rows)
            source = Ragged(self.source.encode_normalized(sources))  # lists of Python's integers are ten times larger
            yield EncodedBlock(i, source, Ragged(self.target.encode_normalized(targets)))

    def _append(self, block: EncodedBlock, arrays: ArrayFiles, ends: dict[str, int]) -> None:
        """Append the tokens of the pairs that are kept, and the lengths of the others."""
        source_lengths, target_lengths = block.source.lengths, block.target.lengths
        is_kept = self._within_limits(source_lengths, target_lengths)
        rows = block.start + np.arange(len(is_kept))
        arrays.append("kept", rows[is_kept])
        arrays.append("dropped", np.stack([rows, source_lengths, target_lengths], axis=1)[~is_kept])
        for side, sequences, lengths in (
            ("source", block.source, source_lengths),
            ("target", block.target, target_lengths),
        ):
            tokens = sequences.tokens[np.flatnonzero(np.repeat(is_kept, lengths))]
            arrays.append(f"{side}.tokens", tokens.astype(self._dtype(side)))
            arrays.append(f"{side}.offsets", ends[side] + np.cumsum(lengths[is_kept]))
            ends[side] += len(tokens)

    def _within_limits(self, source: Lengths, target: Lengths) -> NDArray[np.bool_]:
        """Return for each pair whether `LengthLimits.drop_reason` keeps it."""
        longer, shorter, limits = np.maximum(source, target), np.minimum(source, target), self.limits
        is_kept = longer <= limits.max_tokens
        if limits.max_length_ratio:
            is_kept &= longer <= limits.max_length_ratio * shorter + RATIO_SLACK_TOKENS
        return is_kept

    def _dtype(self, side: str) -> type[np.integer[Any]]:
        tokenizer: Tokenizer = self.source if side == "source" else self.target
        return np.uint16 if len(tokenizer) <= MAX_UINT16_TOKENS else np.int32

    def _read_side(self, arrays: ArrayFiles, side: str) -> Ragged:
        tokens = arrays.open_array(f"{side}.tokens", self._dtype(side))
        return Ragged.from_arrays(tokens, arrays.open_array(f"{side}.offsets", np.int64))
