"""Cleaning of a corpus: raw pairs → measured chunks in arrays → verdicts of all filters for each pair.

Each filter judges all pairs, so the reasons of a pair do not depend on the other filters; only which of several
duplicates is kept does. Memory: the chunks of the processes, and less than 100 bytes for each pair; the rest is in
arrays that may be in files.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.data.array_files import ArrayFiles
from tongsa.data.cleaning.chunk import MAX_SAMPLES, MeasuredChunk, repair_names, split_chunks
from tongsa.data.cleaning.duplicates import equal_rows, near_rows, same_target_rows
from tongsa.data.cleaning.filters import FILTERS, Limits
from tongsa.data.cleaning.minhash import PERMUTATIONS
from tongsa.data.cleaning.plan import EMPTY, CleaningPlan
from tongsa.data.cleaning.report_data import MisalignedBlock
from tongsa.data.cleaning.thresholds import column_limits, near_similarity, outside, score_limits
from tongsa.data.cleaning.workers import measure_chunks
from tongsa.data.ledger import Pair, Reason
from tongsa.data.text_store import PairStore, open_pairs, write_pairs

BLOCK_ROWS = 1 << 16


class CleaningHooks(NamedTuple):
    """Filters that need a lexicon or a model, as functions of all pairs."""

    find_blocks: Callable[[PairStore], list[MisalignedBlock]] | None = None
    """Finds misaligned blocks, for the filter `alignment`."""
    score_pairs: Callable[[PairStore], NDArray[np.float32]] | None = None
    """Returns the score of each pair, for the filter `model_score`."""


@dataclass
class Tally:
    """Counts over all chunks."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    repairs: Counter[str] = field(default_factory=Counter)
    scripts: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))
    languages: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))
    samples: dict[str, list[tuple[int, str, str, str]]] = field(default_factory=dict)
    """Repair → row, side, text before and after."""

    def add(self, counts: Mapping[str, Any], start: int) -> None:
        for name, seconds in counts["seconds"].items():
            self.seconds[name] += seconds
        self.repairs.update(counts["repairs"])
        for side in (0, 1):
            self.scripts[side].update(counts["scripts"][side])
            self.languages[side].update(counts["languages"][side])
        for name, samples in counts["samples"].items():
            known = self.samples.setdefault(name, [])
            known += [(start + row, *rest) for row, *rest in samples[: MAX_SAMPLES - len(known)]]


@dataclass
class CleanedPairs:
    """All pairs of a corpus, repaired, with the reasons to drop some of them."""

    plan: CleaningPlan
    pairs: PairStore
    arrays: ArrayFiles
    tally: Tally
    limits: list[Limits]
    """Limits of each column of the plan."""
    drops: NDArray[np.uint32]
    """A bit for each reason of the plan."""
    originals: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    """Filter of duplicates → the row that is kept instead of each row, or -1."""
    blocks: list[MisalignedBlock] = field(default_factory=list)
    scores: NDArray[np.float32] | None = None
    score_limits: Limits = field(default_factory=Limits)

    @property
    def kept_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.drops == 0)

    @cached_property
    def values(self) -> NDArray[np.float32]:  # (pair, column)
        return self.arrays.read("values", np.float32).reshape(len(self.drops), len(self.plan.columns))

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self.arrays.read("keys", np.uint64).reshape(-1, 2)

    @property
    def lengths(self) -> NDArray[np.float32]:
        return self.arrays.read("lengths", np.float32).reshape(-1, 4)

    @cached_property
    def repair_bits(self) -> NDArray[np.uint16]:
        return self.arrays.read("repairs", np.uint16)

    def repairs(self, row: int) -> dict[str, list[str]]:
        return repair_names(int(self.repair_bits[row]))

    def reasons(self, row: int) -> list[Reason]:
        """Return why a row is dropped; nothing for a kept row."""
        bits = int(self.drops[row])
        return [Reason(name, self.detail(name, row)) for i, name in enumerate(self.plan.reasons) if bits >> i & 1]

    def detail(self, name: str, row: int) -> str:
        """Return the values of a filter for a row with their thresholds, or the row that is kept instead."""
        if name in FILTERS:
            return "; ".join(self._column_details(name, row))
        if name == "model_score" and self.scores is not None:
            return f"score {self.scores[row]:.3g}, {self.score_limits}"
        if name in self.originals and (original := int(self.originals[name][row])) >= 0:
            pair = self.pairs[original]
            return f"as {pair.file}:{pair.line}"
        if name == "alignment":
            pair = self.pairs[row]
            inside = (b for b in self.blocks if b.file == pair.file and b.first_line <= pair.line <= b.last_line)
            return "; ".join(f"lines {b.first_line} to {b.last_line} slip by {b.shift}" for b in inside)
        return ""

    def _column_details(self, name: str, row: int) -> Iterator[str]:
        dropped = bool(int(self.drops[row]) & self.plan.bit(name))
        for index, column in enumerate(self.plan.columns):
            if column.filter_name != name:
                continue
            value, limits = self.values[row, index], self.limits[index]
            if not dropped or outside(np.array([value]), limits)[0]:
                threshold = f", {limits}" if limits != Limits() else ""
                yield f"{value:.4g} {column.label(self.plan.languages)}{threshold}"


def clean_pairs(
    raw_pairs: Iterable[Pair],
    plan: CleaningPlan,
    arrays: ArrayFiles,
    *,
    processes: int = 1,
    report: Callable[[int], None] = lambda _: None,
    hooks: CleaningHooks = CleaningHooks(),  # noqa: B008 - immutable
) -> CleanedPairs:
    """Measure raw pairs and judge them. `report` is called with the number of pairs so far.

    Args:
        raw_pairs: Pairs as they are in the files; `read_raw_pairs` yields them.
        plan: Settings, languages and sides.
        arrays: Receive texts and numbers; in memory, or in a folder.
        processes: Number of processes that measure.
        report: Called for progress.
        hooks: Functions of the filters that need a lexicon or a model.

    """
    tally = Tally()
    files = write_pairs(_measured_pairs(raw_pairs, plan, arrays, tally, processes, report), arrays)
    arrays.close()  # flushes the files
    pairs = PairStore([open_pairs(arrays, files)])
    count = int(arrays.read("lines", np.int64).size)
    cleaned = CleanedPairs(plan, pairs, arrays, tally, [], np.zeros(count, np.uint32))
    _judge_columns(cleaned)
    _judge_blocks(cleaned, hooks)
    _judge_scores(cleaned, hooks)
    _judge_duplicates(cleaned)
    return cleaned


def _measured_pairs(
    raw_pairs: Iterable[Pair],
    plan: CleaningPlan,
    arrays: ArrayFiles,
    tally: Tally,
    processes: int,
    report: Callable[[int], None],
) -> Iterator[Pair]:
    """Yield the repaired pairs, and append what was measured to the arrays."""
    origins: list[list[tuple[str, int]]] = []

    def texts() -> Iterator[list[list[str]]]:
        for chunk in split_chunks(raw_pairs):
            origins.append([(pair.file, pair.line) for pair in chunk])
            yield [[pair.source for pair in chunk], [pair.target for pair in chunk]]

    row = 0
    for chunk in measure_chunks(texts(), plan, processes):
        for name in MeasuredChunk._fields[2:]:
            arrays.append(name, getattr(chunk, name))
        tally.add(chunk.counts, row)
        row += len(chunk.texts[0])
        for source, target, origin in zip(*chunk.texts, origins.pop(0), strict=True):
            yield Pair(source, target, *origin)
        report(row)


def _judge_columns(cleaned: CleanedPairs) -> None:
    plan, values, lengths = cleaned.plan, cleaned.values, cleaned.lengths
    cleaned.limits = column_limits(plan, values)
    needs_texts = (1,) if plan.sides == (1,) else (0, 1)
    for start in range(0, len(values), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        for side in needs_texts:
            cleaned.drops[block] |= np.where(lengths[block, 2 + side] == 0, plan.bit(EMPTY), 0).astype(np.uint32)
        for index, (column, limits) in enumerate(zip(plan.columns, cleaned.limits, strict=True)):
            began = thread_time()
            bit = np.uint32(plan.bit(column.filter_name))
            cleaned.drops[block] |= outside(values[block, index], limits) * bit
            cleaned.tally.seconds[column.filter_name] += thread_time() - began


def _judge_blocks(cleaned: CleanedPairs, hooks: CleaningHooks) -> None:
    if "alignment" not in cleaned.plan.filter_names or hooks.find_blocks is None:
        return
    began = thread_time()
    cleaned.blocks = hooks.find_blocks(cleaned.pairs)
    lines, starts = cleaned.arrays.read("lines", np.int64), [*cleaned.pairs.parts[0].files] if cleaned.blocks else []
    bounds = [start for start, _ in starts[1:]] + [len(lines)]
    for block in cleaned.blocks:
        for (start, file), end in zip(starts, bounds, strict=True):
            if file == block.file:
                is_inside = (lines[start:end] >= block.first_line) & (lines[start:end] <= block.last_line)
                cleaned.drops[start:end] |= is_inside * np.uint32(cleaned.plan.bit("alignment"))
    cleaned.tally.seconds["alignment"] += thread_time() - began


def _judge_scores(cleaned: CleanedPairs, hooks: CleaningHooks) -> None:
    if "model_score" not in cleaned.plan.filter_names or hooks.score_pairs is None:
        return
    began = thread_time()
    cleaned.scores = np.asarray(hooks.score_pairs(cleaned.pairs), np.float32)
    cleaned.score_limits = score_limits(cleaned.plan, cleaned.scores)
    bit = np.uint32(cleaned.plan.bit("model_score"))
    cleaned.drops |= outside(cleaned.scores, cleaned.score_limits) * bit
    cleaned.tally.seconds["model_score"] += thread_time() - began


def _judge_duplicates(cleaned: CleanedPairs) -> None:
    plan = cleaned.plan
    functions: dict[str, Callable[[NDArray[np.bool_]], NDArray[np.int64]]] = {
        "duplicates": lambda is_dropped: equal_rows(cleaned.keys, is_dropped),
        "same_target": lambda is_dropped: same_target_rows(cleaned.keys, is_dropped, _badness(cleaned)),
        "near_duplicates": lambda is_dropped: near_rows(_signatures(cleaned), is_dropped, near_similarity(plan)),
    }
    for name, find in functions.items():
        if name in plan.filter_names:
            began = thread_time()
            cleaned.originals[name] = find(cleaned.drops > 0)
            cleaned.drops |= (cleaned.originals[name] >= 0) * np.uint32(plan.bit(name))
            cleaned.tally.seconds[name] += thread_time() - began


def _signatures(cleaned: CleanedPairs) -> NDArray[np.uint16]:
    return cleaned.arrays.read("signatures", np.uint16).reshape(-1, PERMUTATIONS)


def _badness(cleaned: CleanedPairs) -> NDArray[np.float64]:
    """Return how bad each pair is: its negative score, or the distance of its length ratio to the median."""
    if cleaned.scores is not None:
        return -cleaned.scores.astype(np.float64)
    ratios = np.log((cleaned.lengths[:, 3] + 1) / (cleaned.lengths[:, 2] + 1)).astype(np.float64)
    return np.asarray(np.abs(ratios - np.median(ratios))) if len(ratios) else ratios
