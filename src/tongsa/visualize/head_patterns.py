"""What a head does, in numbers: how widely it reads (entropy) and where its weight falls.

The places follow the positional heads of Voita et al. 2019 and the surface patterns of Clark et al. 2019.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]
Mask = NDArray[np.bool_]

MIN_PATTERN_SHARE = 0.5
"""A place names a head if this share of the weight falls there …"""
MIN_PATTERN_LIFT = 1.5
"""… and if that is so many times what equal weights would give: short sentences agree by chance."""
MIN_BROAD_ENTROPY = 0.8
"""A head is broad if its entropy reaches this part of the greatest possible."""
DIAGONAL_BAND = 0.1
"""A cross head is diagonal within this part of the source on either side."""


@dataclass(frozen=True, kw_only=True)
class PatternShare:
    share: float
    """Mean weight that falls here, over the queries that have such a place."""
    uniform_share: float
    """The share if the weights were equal."""


@dataclass(frozen=True, kw_only=True)
class HeadSummary:
    """One head over one sentence; queries that had only one key to read are left out."""

    pattern: str
    """A place, or "broad", "focused", "mixed"; "fixed" if no query had a choice."""
    value: float
    """The share of the place; of a broad head `spread`, of the others `peak`."""
    entropy: float
    """In bits, mean over queries."""
    normalized_entropy: float
    """Entropy as part of the greatest possible, mean over queries."""
    confidence: float
    """The largest weight of a query, mean over queries."""
    patterns: Mapping[str, PatternShare]


def attention_mask(role: str, queries: int, keys: int) -> Mask:  # (query, key)
    """True where a query may look: in a decoder at what was written before it."""
    cells = np.ones((queries, keys), dtype=np.bool_)
    return np.tril(cells) if role == "decoder" else cells


def pattern_masks(role: str, queries: int, keys: int) -> dict[str, Mask]:  # each (query, key)
    """The places of a role; where keys are the words before (decoder), key k stands for word k − 1."""
    query, key = np.arange(queries)[:, None], np.arange(keys)[None, :]
    first, last = (
        np.broadcast_to(key == 0, (queries, keys)),
        np.broadcast_to(key == keys - 1, (queries, keys)),
    )
    if role == "encoder":
        near = {"itself": key == query, "previous": key == query - 1, "next": key == query + 1}
        return {**near, "first": first, "last": last}
    if role == "decoder":
        near = {"itself": key == query + 1, "previous": key == query, "earlier": key == query - 1}
        return {**near, "first": first}
    if role == "cross":
        centre = query * (keys - 1) / max(queries - 1, 1)
        return {"diagonal": np.abs(key - centre) <= max(0.5, DIAGONAL_BAND * keys), "first": first, "last": last}
    return {"first": first, "last": last}


def summarize_head(weights: Weights, mask: Mask, patterns: Mapping[str, Mask]) -> HeadSummary:
    """Name a head (query, key) by what most of its weight does."""
    choices = mask.sum(axis=1)
    free = choices > 1
    if not free.any():
        return HeadSummary(pattern="fixed", value=1.0, entropy=0.0, normalized_entropy=0.0, confidence=1.0, patterns={})
    rows, cells, most = weights[free], mask[free], np.log2(choices[free])
    entropy = -(rows * np.log2(np.where(rows > 0, rows, 1.0))).sum(axis=1)
    found = {
        name: pattern_share(rows, cells, place[free]) for name, place in patterns.items() if (place & mask)[free].any()
    }
    spread, peak = float((entropy / most).mean()), float(rows.max(axis=1).mean())
    kind, number = classify_head(found, spread, peak)
    return HeadSummary(
        pattern=kind,
        value=number,
        entropy=float(entropy.mean()),
        normalized_entropy=spread,
        confidence=peak,
        patterns=found,
    )


def pattern_share(weights: Weights, mask: Mask, pattern: Mask) -> PatternShare:
    here = pattern & mask
    having = here.any(axis=1)
    equal = here.sum(axis=1) / mask.sum(axis=1)
    share = (weights * here).sum(axis=1)
    return PatternShare(share=float(share[having].mean()), uniform_share=float(equal[having].mean()))


def classify_head(
    patterns: Mapping[str, PatternShare], normalized_entropy: float, confidence: float
) -> tuple[str, float]:
    clear = {
        name: p.share
        for name, p in patterns.items()
        if p.share >= MIN_PATTERN_SHARE and p.share >= MIN_PATTERN_LIFT * p.uniform_share
    }
    if clear:
        return max(clear.items(), key=lambda item: item[1])
    if normalized_entropy >= MIN_BROAD_ENTROPY:
        return "broad", normalized_entropy
    return ("focused" if confidence >= MIN_PATTERN_SHARE else "mixed"), confidence
