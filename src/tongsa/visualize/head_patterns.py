"""Attention patterns of a head: entropy, and a positional pattern if the evidence exceeds chance.

The patterns follow the positional heads of Voita et al. 2019 and the surface patterns of Clark et al. 2019.

In a short sentence nearly every head agrees with some pattern. The first cell of a diagonal is also in the first
column, its last cell in the last column. With three keys, a third of the weight falls on each cell on average. So a
head is named after a pattern only if all of these hold:

1. Rows in which the pattern shares a cell with another pattern do not count, nor do rows without a cell of it.
2. At least MIN_PATTERN_ROWS rows are left; a pattern that moves with the query also needs as many different keys.
   And they are enough for a head that follows the pattern exactly to pass the test of point 4.
3. In these rows the pattern's share of the weight is at least MIN_PATTERN_SHARE, and at least MIN_PATTERN_LIFT times
   the share under uniform attention.
4. Random permutations of the weights within each row, which keep the entropies, rarely reach this share: with a
   probability of at most MAX_CHANCE divided by the number of patterns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]
Mask = NDArray[np.bool_]

MIN_PATTERN_SHARE = 0.5
"""Smallest share of the weight on the pattern."""
MIN_PATTERN_LIFT = 1.5
"""Smallest ratio of that share to the share under uniform attention."""
MIN_PATTERN_ROWS = 3
"""Smallest number of rows that distinguish the pattern from the others."""
MAX_CHANCE = 0.01
"""Largest probability that a head with permuted weights is named after any of the patterns."""
MIN_BROAD_ENTROPY = 0.8
"""A head is broad if its entropy is at least this fraction of the maximum."""
DIAGONAL_BAND = 0.1
"""Half width of the diagonal of cross-attention, as a fraction of the source length."""
THRESHOLDS = {
    "min_pattern_share": MIN_PATTERN_SHARE,
    "min_pattern_lift": MIN_PATTERN_LIFT,
    "min_pattern_rows": MIN_PATTERN_ROWS,
    "max_chance": MAX_CHANCE,
    "min_broad_entropy": MIN_BROAD_ENTROPY,
    "diagonal_band": DIAGONAL_BAND,
}
"""The numbers above by name, for the page that explains them."""

FIXED_KEY_PATTERNS = ("first", "last")
"""Patterns with the same key in all rows."""
CHERNOFF_RATES = 2.0 ** np.arange(0, 9)
"""Values of λ at which the Chernoff bound is evaluated; the smallest bound counts."""


@dataclass(frozen=True, kw_only=True)
class PatternShare:
    """Weight on a pattern, over the rows that distinguish it from the other patterns."""

    share: float
    """Mean share of the weight."""
    uniform_share: float
    """Mean share under uniform attention."""
    is_testable: bool
    """True if the sentence is long enough: a head that follows the pattern exactly would be named after it."""


@dataclass(frozen=True, kw_only=True)
class HeadSummary:
    """One head over one sentence; queries with a single key to attend to are left out."""

    pattern: str
    """A positional pattern, or "broad", "focused", "mixed".

    "too_short" if the sentence is too short to test any pattern; "fixed" if no query has more than one key.
    """
    value: float
    """The share for a positional pattern, `normalized_entropy` for a broad head, `confidence` for the others."""
    entropy: float
    """Mean entropy of the rows in bits."""
    normalized_entropy: float
    """Mean ratio of a row's entropy to its maximum."""
    confidence: float
    """Mean of each row's largest weight."""
    patterns: Mapping[str, PatternShare]


def pattern_masks(role: str, queries: int, keys: int) -> dict[str, Mask]:  # each (query, key)
    """Return the cells of each pattern of a role. A decoder's keys are shifted: key k is the word k − 1."""
    query, key = np.arange(queries)[:, None], np.arange(keys)[None, :]
    first = np.broadcast_to(key == 0, (queries, keys))
    last = np.broadcast_to(key == keys - 1, (queries, keys))
    if role == "encoder":
        relative = {"itself": key == query, "previous": key == query - 1, "next": key == query + 1}
        return {**relative, "first": first, "last": last}
    if role == "decoder":
        relative = {"itself": key == query + 1, "previous": key == query, "earlier": key == query - 1}
        return {**relative, "first": first}
    if role == "cross":
        center = query * (keys - 1) / max(queries - 1, 1)
        return {"diagonal": np.abs(key - center) <= max(0.5, DIAGONAL_BAND * keys), "first": first, "last": last}
    return {"first": first, "last": last}


def summarize_head(weights: Weights, mask: Mask, patterns: Mapping[str, Mask]) -> HeadSummary:
    """Return the entropy and the pattern of a head (query, key)."""
    allowed_keys = mask.sum(axis=1)
    has_choice = allowed_keys > 1
    if not has_choice.any():
        return HeadSummary(pattern="fixed", value=1.0, entropy=0.0, normalized_entropy=0.0, confidence=1.0, patterns={})
    rows, mask = weights[has_choice], mask[has_choice]
    entropy = -(rows * np.log2(np.where(rows > 0, rows, 1.0))).sum(axis=1)
    normalized_entropy = float((entropy / np.log2(allowed_keys[has_choice])).mean())
    confidence = float(rows.max(axis=1).mean())
    distinct = distinct_cells({name: cells[has_choice] & mask for name, cells in patterns.items()})
    max_chance = MAX_CHANCE / max(len(distinct), 1)
    shares = {name: pattern_share(rows, mask, distinct[name], name, max_chance) for name in distinct}
    named = {
        name: pattern.share
        for name, pattern in shares.items()
        if exceeds_thresholds(pattern) and chance_bound(rows, mask, distinct[name]) <= max_chance
    }
    label, value = classify_head(shares, named, normalized_entropy, confidence)
    return HeadSummary(
        pattern=label,
        value=value,
        entropy=float(entropy.mean()),
        normalized_entropy=normalized_entropy,
        confidence=confidence,
        patterns=shares,
    )


def distinct_cells(patterns: Mapping[str, Mask]) -> dict[str, Mask]:
    """Return the cells of each pattern in the rows where it shares none with another pattern, if there are any."""
    counts = sum((cells.astype(np.int64) for cells in patterns.values()), np.int64(0))
    distinct = {name: cells & ~(cells & (counts > 1)).any(axis=1, keepdims=True) for name, cells in patterns.items()}
    return {name: cells for name, cells in distinct.items() if cells.any()}


def pattern_share(weights: Weights, mask: Mask, cells: Mask, name: str, max_chance: float) -> PatternShare:
    """Return the share of the weight on the cells of a pattern, over the rows that have such cells."""
    informative = cells.any(axis=1)
    uniform = cells.sum(axis=1) / mask.sum(axis=1)
    shares = (weights * cells).sum(axis=1)
    row_count, key_count = informative.sum(), cells.any(axis=0).sum()
    # many rows on one key are no evidence that the head moves with the query
    evidence = row_count if name in FIXED_KEY_PATTERNS else min(row_count, key_count)
    # random one-hot rows hit the cells in all informative rows with this probability
    best_chance = uniform[informative].prod()
    return PatternShare(
        share=float(shares[informative].mean()),
        uniform_share=float(uniform[informative].mean()),
        is_testable=bool(evidence >= MIN_PATTERN_ROWS and best_chance <= max_chance),
    )


def exceeds_thresholds(pattern: PatternShare) -> bool:
    """Return whether the share is large enough, over enough rows; `chance_bound` tests the rest."""
    return (
        pattern.is_testable
        and pattern.share >= MIN_PATTERN_SHARE
        and pattern.share >= MIN_PATTERN_LIFT * pattern.uniform_share
    )


def chance_bound(weights: Weights, mask: Mask, cells: Mask) -> float:
    """Return an upper bound of the probability that randomly permuted rows put as much weight on these cells.

    Chernoff: P(S ≥ s) ≤ e^(−λs) Π E[e^(λXᵢ)] for every λ > 0, where Xᵢ is the weight on the m cells of row i. A random
    permutation draws m of the row's n allowed weights without replacement. Two bounds of E[e^(λX)] hold, and the
    smaller one counts:

    - with replacement it is no smaller (Hoeffding 1963, theorem 4): the m-th power of the mean of e^(λw);
    - X has the mean m/n and lies between B and A, the sums of the m smallest and m largest weights. As e^(λX) is
      convex, its expectation is at most that of a variable with the same mean which is either A or B.
    """
    informative = cells.any(axis=1)
    rows, allowed = weights[informative], mask[informative]
    counts, sizes = cells[informative].sum(axis=1), allowed.sum(axis=1)
    total = float((rows * cells[informative]).sum())
    index = np.arange(len(rows)), counts - 1
    smallest_sums = np.sort(np.where(allowed, rows, np.inf), axis=1).cumsum(axis=1)[index]
    descending = -np.sort(-rows, axis=1)
    largest_sums, peaks = descending.cumsum(axis=1)[index], descending[:, 0]
    ranges = largest_sums - smallest_sums
    probabilities = np.clip((counts / sizes - smallest_sums) / np.where(ranges > 0, ranges, 1.0), 0.0, 1.0)
    distances = np.where(allowed, rows - peaks[:, None], -np.inf)  # relative to the peak: e^(λw) cannot overflow
    bounds = []
    for rate in CHERNOFF_RATES:
        means = np.exp(rate * distances).sum(axis=1) / sizes
        with_replacement = counts * (np.log(means) + rate * peaks)
        two_point = rate * smallest_sums + np.log1p(probabilities * np.expm1(rate * ranges))
        bounds.append(float(np.minimum(with_replacement, two_point).sum()) - rate * total)
    return float(np.exp(min(0.0, *bounds)))


def classify_head(
    patterns: Mapping[str, PatternShare], named: Mapping[str, float], normalized_entropy: float, confidence: float
) -> tuple[str, float]:
    """Return the name of a head and the number that goes with it."""
    if named:
        return max(named.items(), key=lambda item: item[1])
    if normalized_entropy >= MIN_BROAD_ENTROPY:
        return "broad", normalized_entropy
    if not any(pattern.is_testable for pattern in patterns.values()):
        return "too_short", confidence
    return ("focused" if confidence >= MIN_PATTERN_SHARE else "mixed"), confidence


def common_pattern(patterns: Sequence[str]) -> dict[str, str | int]:
    """Return the pattern of a head over several sentences, with the number of sentences that have it.

    Sentences that are too short to test any pattern do not count, unless all are. "varies" if none has a majority.
    """
    counted = [pattern for pattern in patterns if pattern not in ("too_short", "fixed")] or list(patterns)
    pattern, count = Counter(counted).most_common(1)[0]
    if 2 * count <= len(counted) and len(counted) > 1:
        pattern = "varies"
    return {"pattern": pattern, "count": count, "sentences": len(counted)}
