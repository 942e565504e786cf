"""What a head does, in numbers: how widely it reads (entropy) and where its weight falls.

The places follow the positional heads of Voita et al. 2019 and the surface patterns of Clark et al. 2019.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]
Cells = NDArray[np.bool_]

HALF = 0.5
"""A place names a head if this share of the weight falls there …"""
LIFT = 1.5
"""… and if that is so many times what equal weights would give: short sentences agree by chance."""
BROAD = 0.8
"""A head is broad if its entropy reaches this part of the greatest possible."""
BAND = 0.1
"""A cross head is diagonal within this part of the source on either side."""


@dataclass(frozen=True, kw_only=True)
class Place:
    share: float
    """Mean weight that falls here, over the queries that have such a place."""
    chance: float
    """The share if the weights were equal."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One head over one sentence; queries that had only one key to read are left out."""

    kind: str
    """A place, or "broad", "focused", "mixed"; "fixed" if no query had a choice."""
    number: float
    """The share of the place; of a broad head `spread`, of the others `peak`."""
    entropy: float
    """In bits, mean over queries."""
    spread: float
    """Entropy as part of the greatest possible, mean over queries."""
    peak: float
    """The largest weight of a query, mean over queries."""
    places: Mapping[str, Place]


def readable(role: str, queries: int, keys: int) -> Cells:  # (query, key)
    """True where a query may look: in a decoder at what was written before it."""
    cells = np.ones((queries, keys), dtype=np.bool_)
    return np.tril(cells) if role == "decoder" else cells


def places(role: str, queries: int, keys: int) -> dict[str, Cells]:  # each (query, key)
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
        return {"diagonal": np.abs(key - centre) <= max(0.5, BAND * keys), "first": first, "last": last}
    return {"first": first, "last": last}


def summary(weights: Weights, open_cells: Cells, where: Mapping[str, Cells]) -> Summary:
    """Name a head (query, key) by what most of its weight does."""
    choices = open_cells.sum(axis=1)
    free = choices > 1
    if not free.any():
        return Summary(kind="fixed", number=1.0, entropy=0.0, spread=0.0, peak=1.0, places={})
    rows, cells, most = weights[free], open_cells[free], np.log2(choices[free])
    entropy = -(rows * np.log2(np.where(rows > 0, rows, 1.0))).sum(axis=1)
    found = {
        name: shares(rows, cells, place[free]) for name, place in where.items() if (place & open_cells)[free].any()
    }
    spread, peak = float((entropy / most).mean()), float(rows.max(axis=1).mean())
    kind, number = named(found, spread, peak)
    return Summary(kind=kind, number=number, entropy=float(entropy.mean()), spread=spread, peak=peak, places=found)


def shares(weights: Weights, open_cells: Cells, place: Cells) -> Place:
    here = place & open_cells
    having = here.any(axis=1)
    equal = here.sum(axis=1) / open_cells.sum(axis=1)
    share = (weights * here).sum(axis=1)
    return Place(share=float(share[having].mean()), chance=float(equal[having].mean()))


def named(found: Mapping[str, Place], spread: float, peak: float) -> tuple[str, float]:
    clear = {name: p.share for name, p in found.items() if p.share >= HALF and p.share >= LIFT * p.chance}
    if clear:
        return max(clear.items(), key=lambda item: item[1])
    if spread >= BROAD:
        return "broad", spread
    return ("focused" if peak >= HALF else "mixed"), peak
