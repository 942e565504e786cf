"""Misaligned blocks of a parallel corpus: ranges of lines whose targets belong to sources some lines away.

    sample → lexicons → vector of each text → evidence of each line for each shift → best path → line of each slip

A path gives each line a shift, or none if no shift fits. The best path is found by the Viterbi algorithm, in which a
change costs as much as several lines of evidence. Each slip is then placed on the line that the evidence around it
favors. A window of lines is in memory at a time, and some bytes for each line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.checks.alignment import ALIGNED_SHARE, MIN_PAIRS, aligned_share
from tongsa.checks.translation_vectors import TranslationVectors, Vectors, text_tokens, train_vectors
from tongsa.data.cleaning.report_data import MisalignedBlock
from tongsa.data.text_store import PairStore, Rows

MAX_SHIFT = 64
"""Largest number of lines between a target and its source."""
SHIFTS = 2 * MAX_SHIFT + 1
NO_SHIFT = SHIFTS
"""State of a line that no shift fits; state s is the shift s - MAX_SHIFT."""
ALIGNED = MAX_SHIFT
"""State of an aligned line."""
SAMPLED_PAIRS = 16_000
"""Pairs that train the lexicons, half for each of the two."""
CHANGE_COST = 20.0
"""Cost of a change of state, in nats: a long corpus has many lines and shifts that fit by chance."""
MAX_EVIDENCE = 4.0
"""Evidence of one line, in nats, at most: one line must not outweigh its neighbors."""
FIRST_SHIFTS = (0, *(sign * shift for shift in range(1, 11) for sign in (1, -1)))
"""Shifts of most lines, in the order in which they are tried."""
FIRST_SAMPLED_PAIRS = 4_000
"""Pairs that try such a shift."""
MISSING_COST = 0.05
"""Cost of a line without a text: no shift may lead out of the file for long."""
MIN_PREFERENCE_SHARE = 0.55
"""Share of sampled pairs that prefer their own partner, below which a lexicon knows nothing."""
RETRAINED_SHARE = 0.05
"""From this share of misaligned lines on, the lexicons are trained again on lines with their shift."""
BACKGROUND_SHIFT = 7
"""Lines away from its partner, a source is similar in subject, but no translation."""
WINDOW_LINES, PRODUCT_LINES = 4096, 256
"""Lines whose vectors are in memory, and lines of one matrix product."""
SLIP_MARGIN = 12
"""Lines before and after a change of state where its exact line is looked for."""
MIN_DENSITY = 0.5
"""Line numbers are positions if at least this share of them has a pair; otherwise the pairs are counted."""

States = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class FileRange:
    """The pairs of one file in the order of their positions."""

    pairs: PairStore
    file: str
    rows: Rows
    """Indices in the store."""
    lines: Rows
    positions: Rows
    """Line numbers; for records that are not lines, consecutive numbers."""

    def rows_at(self, positions: Rows) -> Rows:  # (position,)
        """Return the row at each position, -1 without one."""
        index = np.minimum(np.searchsorted(self.positions, positions), len(self.positions) - 1)
        return np.where(self.positions[index] == positions, self.rows[index], -1)


def find_misaligned_blocks(pairs: PairStore) -> list[MisalignedBlock]:
    """Return the blocks of all files; none in a corpus that is too small, or whose targets no lexicon explains."""
    ranges = [part for part in _file_ranges(pairs) if len(part.rows) >= MIN_PAIRS]
    scorer = _first_scorer(pairs, ranges) if ranges else None
    if scorer is None:
        return []
    paths = [_best_path(part, scorer) for part in ranges]
    states = np.concatenate(paths)
    if np.mean((states != ALIGNED) & (states != NO_SHIFT)) > RETRAINED_SHARE:
        scorer = _train_scorer(pairs, _shifted_rows(ranges, paths)) or scorer
        paths = [_best_path(part, scorer) for part in ranges]
    return [block for part, path in zip(ranges, paths, strict=True) for block in _blocks(part, path, scorer)]


def _file_ranges(pairs: PairStore) -> Iterator[FileRange]:
    start = 0
    for part, part_rows in pairs.by_part(pairs.absolute(np.arange(len(pairs)))):
        bounds = np.searchsorted(part_rows, [first for first, _ in part.files[1:]])
        for (_, file), members in zip(part.files, np.split(np.arange(len(part_rows)), bounds), strict=True):
            lines = part.lines[part_rows[members]]
            if len(lines):
                is_dense = bool((np.diff(lines) > 0).all()) and len(lines) >= MIN_DENSITY * (lines[-1] - lines[0] + 1)
                yield FileRange(pairs, file, members + start, lines, lines if is_dense else np.arange(len(lines)))
        start += len(part_rows)


class ShiftedRows(NamedTuple):
    """Rows of targets, of the sources that belong to them, and of sources near those."""

    targets: Rows
    sources: Rows
    background: Rows


def _shifted_rows(ranges: Sequence[FileRange], paths: Sequence[States]) -> ShiftedRows:
    columns = []
    for part, path in zip(ranges, paths, strict=True):
        positions = part.positions + path - ALIGNED
        sources = np.where(path == NO_SHIFT, -1, part.rows_at(positions))
        background = part.rows_at(positions + BACKGROUND_SHIFT)
        kept = (sources >= 0) & (background >= 0)
        columns.append((part.rows[kept], sources[kept], background[kept]))
    return ShiftedRows(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def _constant_shift(ranges: Sequence[FileRange], shift: int) -> ShiftedRows:
    return _shifted_rows(ranges, [np.full(len(part.rows), ALIGNED + shift, np.int16) for part in ranges])


@dataclass(frozen=True, eq=False)
class Scorer:
    """Vectors of two lexicons, each trained on one half of the rows and used for targets of the other half.

    A lexicon that has seen a wrong pair would take it for a translation.
    """

    vectors: tuple[TranslationVectors, TranslationVectors]
    threshold: float
    """Dot product between those of translations and of other pairs."""
    scale: float
    """Nats per unit of the dot product."""
    preference_share: float
    """Share of targets that prefer their source to a source nearby."""

    def evidence(self, products: Vectors) -> Vectors:
        """Return log p(product | translation) - log p(product | other pair) for normal distributions, limited."""
        evidence: Vectors = np.clip((products - self.threshold) * self.scale, -MAX_EVIDENCE, MAX_EVIDENCE)
        return evidence


def _half(rows: Rows) -> NDArray[np.bool_]:
    """Return the half of the corpus of each row, by a hash: a corpus may have a periodic structure."""
    half: NDArray[np.bool_] = (rows * 0x9E3779B1 >> 16) % 2 == 1
    return half


def _train_scorer(pairs: PairStore, shifted: ShiftedRows, max_pairs: int = SAMPLED_PAIRS) -> Scorer | None:
    """Train both lexicons and measure each on the other half; None if there are too few pairs."""
    count = len(shifted.targets)
    chosen = np.sort(np.random.default_rng(0).permutation(count)[:max_pairs])
    rows = ShiftedRows(*(column[chosen] for column in shifted))
    tokens = [
        np.fromiter(map(text_tokens, texts.take(column)), object, len(chosen))
        for texts, column in zip((pairs.targets, pairs.sources, pairs.sources), rows, strict=True)
    ]
    usable = np.array([all(map(len, row)) for row in zip(*tokens, strict=True)], bool)
    targets, sources, background = (column[usable] for column in tokens)
    half = _half(rows.targets[usable])
    if min(half.sum(), (~half).sum()) < MIN_PAIRS // 4:
        return None
    vectors = tuple(train_vectors(sources[half == bool(i)], targets[half == bool(i)]) for i in range(2))
    partner, other = [], []
    for trained, test in zip(vectors, (half, ~half), strict=True):
        target_vectors = trained.targets(targets[test])
        partner.append((trained.sources(sources[test]) * target_vectors).sum(axis=1))
        other.append((trained.sources(background[test]) * target_vectors).sum(axis=1))
    return _fit_scorer((vectors[0], vectors[1]), np.concatenate(partner), np.concatenate(other))


def _fit_scorer(vectors: tuple[TranslationVectors, TranslationVectors], partner: Vectors, other: Vectors) -> Scorer:
    variance = max(1e-6, (float(partner.var()) + float(other.var())) / 2)
    share = aligned_share(partner.astype(np.float64) - other)
    distance = max(0.0, float(partner.mean() - other.mean()))
    return Scorer(vectors, float(partner.mean() + other.mean()) / 2, distance / variance, share)


def _first_scorer(pairs: PairStore, ranges: Sequence[FileRange]) -> Scorer | None:
    """Return the scorer of the first shift whose pairs are aligned, else of the best one."""
    shares: dict[int, float] = {}
    for shift in FIRST_SHIFTS:
        scorer = _train_scorer(pairs, _constant_shift(ranges, shift), FIRST_SAMPLED_PAIRS)
        shares[shift] = scorer.preference_share if scorer else 0.0
        if shares[shift] >= ALIGNED_SHARE:
            break
    best = max(shares, key=lambda shift: shares[shift])
    return _train_scorer(pairs, _constant_shift(ranges, best)) if shares[best] >= MIN_PREFERENCE_SHARE else None


def _evidence_windows(part: FileRange, scorer: Scorer, first: int, last: int) -> Iterator[Vectors]:
    for start in range(first, last, WINDOW_LINES):
        yield _evidence_window(part, scorer, start, min(start + WINDOW_LINES, last))


def _evidence_window(part: FileRange, scorer: Scorer, first: int, last: int) -> Vectors:  # (target, shift)
    """Return the evidence of the targets at positions `first` to `last` - 1; -MISSING_COST without a text."""
    length = last - first
    padded = np.arange(first - MAX_SHIFT, last + MAX_SHIFT)
    source_rows, target_rows = part.rows_at(padded), part.rows_at(padded[MAX_SHIFT:-MAX_SHIFT])
    source_tokens = [*map(text_tokens, part.pairs.sources.take(source_rows[source_rows >= 0]))]
    evidence = np.full((length, SHIFTS), -MISSING_COST, np.float32)
    for i, vectors in enumerate(scorer.vectors):
        sources = _scatter(vectors.sources(source_tokens), source_rows >= 0)
        in_half = (_half(target_rows) != bool(i)) & (target_rows >= 0)
        target_tokens = [*map(text_tokens, part.pairs.targets.take(target_rows[in_half]))]
        targets = _scatter(vectors.targets(target_tokens), in_half)
        for start in range(0, length, PRODUCT_LINES):
            end = min(start + PRODUCT_LINES, length)
            products = targets[start:end] @ sources[start : end + 2 * MAX_SHIFT].T
            band = _diagonals(products)
            is_known = (band != 0) & in_half[start:end, None]
            evidence[start:end] = np.where(is_known, scorer.evidence(band), evidence[start:end])
    return evidence


def _scatter(vectors: Vectors, is_present: NDArray[np.bool_]) -> Vectors:
    rows = np.zeros((len(is_present), vectors.shape[1]), np.float32)
    rows[is_present] = vectors
    return rows


def _diagonals(products: Vectors) -> Vectors:  # (target, shift)
    """Return the products of each target i with the sources i to i + 2 · MAX_SHIFT."""
    row, column = products.strides
    return np.lib.stride_tricks.as_strided(products, (len(products), SHIFTS), (row + column, column))


def _best_path(part: FileRange, scorer: Scorer) -> States:  # (row,)
    """Return the state of each pair on the path with the most evidence (Viterbi)."""
    first, last = int(part.positions[0]), int(part.positions[-1]) + 1
    total = np.full(SHIFTS + 1, -CHANGE_COST)
    total[ALIGNED] = 0.0
    leaders = np.empty(last - first, np.int16)
    """Best state before each position: a change of state comes from it."""
    changes = np.empty((last - first, -(-(SHIFTS + 1) // 8)), np.uint8)
    for i, evidence in enumerate(chain.from_iterable(_evidence_windows(part, scorer, first, last))):
        leaders[i] = leader = total.argmax()
        after_change = total[leader] - CHANGE_COST
        changes[i] = np.packbits(total < after_change)
        np.maximum(total, after_change, out=total)
        total[:SHIFTS] += evidence
    return _trace(leaders, changes, int(total.argmax()))[part.positions - first]


def _trace(leaders: States, changes: NDArray[np.uint8], state: int) -> States:
    path = np.empty(len(leaders), np.int16)
    for i in range(len(leaders) - 1, -1, -1):
        path[i] = state
        if changes[i, state >> 3] >> (7 - (state & 7)) & 1:
            state = int(leaders[i])
    return path


class ShiftedRange(NamedTuple):
    """Consecutive pairs of a file with the same shift."""

    first: int
    last: int
    shift: int


def _blocks(part: FileRange, path: States, scorer: Scorer) -> Iterator[MisalignedBlock]:
    runs = [run for run in _runs(path) if run.shift != NO_SHIFT - ALIGNED]
    starts = [runs[0].first] if runs else []
    for before, after in pairwise(runs):
        starts.append(after.first if before.shift == after.shift else _slip(part, scorer, before, after))
    # targets that were inserted before aligned lines belong to the block
    extras = [max(0, before.shift) if not after.shift else 0 for before, after in pairwise(runs)]
    ends = [start + extra - 1 for start, extra in zip(starts[1:], extras, strict=True)] + [len(path) - 1]
    for run, start, end in zip(runs, starts, ends, strict=True):
        if run.shift:
            yield MisalignedBlock(
                file=part.file, first_line=int(part.lines[start]), last_line=int(part.lines[end]), shift=run.shift
            )


def _runs(path: States) -> list[ShiftedRange]:
    bounds = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    return [ShiftedRange(start, end - 1, int(path[start]) - ALIGNED) for start, end in pairwise(bounds)]


def _slip(part: FileRange, scorer: Scorer, before: ShiftedRange, after: ShiftedRange) -> int:
    """Return the first pair after a slip: the place that both sides' evidence favors.

    If the shift falls by n, the n targets after the slip have no source.
    """
    extra = max(0, before.shift - after.shift)
    low = max(before.first, before.last + 1 - SLIP_MARGIN - extra)
    high = min(after.last, after.first + SLIP_MARGIN)
    positions, states = part.positions[low : high + 1], [before.shift + ALIGNED, after.shift + ALIGNED]
    windows = _evidence_windows(part, scorer, int(positions[0]), int(positions[-1]) + 1)
    evidence = np.concatenate([window[:, states] for window in windows])[positions - positions[0]]
    with_before = np.concatenate([[0.0], np.cumsum(evidence[:, 0], dtype=np.float64)])
    with_after = np.concatenate([np.cumsum(evidence[::-1, 1], dtype=np.float64)[::-1], [0.0]])
    starts = np.arange(len(with_before))
    return low + int(np.argmax(with_before + with_after[np.minimum(starts + extra, len(starts) - 1)]))
