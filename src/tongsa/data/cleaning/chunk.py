"""Measurement of a chunk of pairs: repairs, numbers of the filters, keys of duplicates. Runs in any process.

A chunk is a header for JSON and arrays, so that it can be written to a pipe.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.data.cleaning.filters import text_length
from tongsa.data.cleaning.language import count_languages
from tongsa.data.cleaning.minhash import signatures
from tongsa.data.cleaning.plan import CleaningPlan
from tongsa.data.cleaning.repairs import REPAIRS, repair_text
from tongsa.data.corpus_split import text_keys
from tongsa.data.ledger import Pair
from tongsa.data.normalize import normalize
from tongsa.data.unicode_scripts import script_counts

CHUNK_PAIRS, CHUNK_CHARACTERS = 4_000, 2_000_000
"""A chunk is full with this many pairs or characters."""
MAX_SAMPLES = 20
"""Examples that are kept of each repair."""
SIDES = ("source", "target")


class MeasuredChunk(NamedTuple):
    """Repaired and normalized texts with all that was measured."""

    texts: list[list[str]]
    """Sources, targets."""
    counts: dict[str, Any]
    """seconds by step, characters by script and lines by language of each side, repaired texts by name, samples."""
    values: NDArray[np.float32]  # (pair, column)
    lengths: NDArray[np.float32]  # (pair, 4): source and target in the unit of their language, then in characters
    repairs: NDArray[np.uint16]  # (pair,): a bit for each repair of the source, then of the target
    keys: NDArray[np.uint64]  # (pair, 2): of the letters and digits of source and target
    signatures: NDArray[np.uint16]  # (pair, permutation), or (pair, 0)


def measure_chunk(texts: Sequence[Sequence[str]], plan: CleaningPlan) -> MeasuredChunk:
    """Repair, normalize and measure the raw texts of some pairs (sources, targets)."""
    seconds: defaultdict[str, float] = defaultdict(float)
    counts: dict[str, Any] = {"repairs": Counter(), "samples": {}}
    start = thread_time()
    clean, repairs = _repair(texts, plan, counts)
    seconds["repairs"] = thread_time() - start
    pairs = list(zip(*clean, strict=True))
    values = np.zeros((len(pairs), len(plan.columns)), np.float32)
    for index, column in enumerate(plan.columns):
        start = thread_time()
        values[:, index] = [column.value(pair, plan.languages) for pair in pairs]
        seconds[column.filter_name] += thread_time() - start
    start = thread_time()
    keys = np.stack([text_keys(side, len(side)) for side in clean], axis=1)
    seconds["duplicates"] = seconds["same_target"] = thread_time() - start
    start = thread_time()
    needs_signatures = "near_duplicates" in plan.filter_names
    joined = [f"{source}\n{target}" for source, target in pairs]
    hashes = signatures(joined) if needs_signatures else np.zeros((len(pairs), 0), np.uint16)
    seconds["near_duplicates"] = thread_time() - start
    counts["seconds"] = seconds
    counts["scripts"] = [sum(map(script_counts, side), Counter[str]()) for side in clean]
    languages = [count_languages(side) for side in clean] if "language" in plan.filter_names else [Counter[str]()] * 2
    counts["languages"] = languages
    lengths = np.array(
        [[text_length(text, code) for text in side] for side, code in zip(clean, plan.languages, strict=True)]
        + [list(map(len, side)) for side in clean],
        np.float32,
    ).T
    return MeasuredChunk(clean, counts, values, lengths, repairs, keys, hashes)


def _repair(
    texts: Sequence[Sequence[str]], plan: CleaningPlan, counts: dict[str, Any]
) -> tuple[list[list[str]], NDArray[np.uint16]]:
    names = plan.filters.repair_names
    bits = {name: 1 << i for i, name in enumerate(REPAIRS)}
    repairs = np.zeros(len(texts[0]), np.uint16)
    clean: list[list[str]] = []
    for side, (raw, language) in enumerate(zip(texts, plan.languages, strict=True)):
        clean.append([])
        for row, text in enumerate(raw):
            repaired, changes = repair_text(text, names, language) if side in plan.sides else (text, ())
            normalized = normalize(repaired)
            clean[-1].append(normalized)
            for name in changes:
                repairs[row] |= bits[name] << (side * len(REPAIRS))
                counts["repairs"][name] += 1
                samples = counts["samples"].setdefault(name, [])
                if len(samples) < MAX_SAMPLES:
                    samples.append([row, SIDES[side], text, normalized])
    return clean, repairs


def repair_names(bits: int) -> dict[str, list[str]]:
    """Return the names of the repairs of each side for the bits of a pair."""
    sides: dict[str, list[str]] = {}
    for side, name in enumerate(SIDES):
        side_bits = bits >> (side * len(REPAIRS)) & ((1 << len(REPAIRS)) - 1)
        if names := [str(repair) for i, repair in enumerate(REPAIRS) if side_bits >> i & 1]:
            sides[name] = names
    return sides


def split_chunks(pairs: Iterable[Pair]) -> Iterable[list[Pair]]:
    """Yield consecutive pairs in chunks."""
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(chunk) >= CHUNK_PAIRS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
