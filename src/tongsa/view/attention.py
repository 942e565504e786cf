"""Attention, looked into: every role, layer and head of some sentences on one page that needs no network."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tongsa.errors import InputError
from tongsa.files import write_text
from tongsa.text.words import merge_words, word_labels, word_starts
from tongsa.view import heads
from tongsa.view.document import document
from tongsa.view.packing import packed

GRAIN = 10_000
"""Weights are stored as whole numbers of this part, packed layer by layer: four decimals, and the page stays small."""
SLACK = 0.02
"""How far a row may be from one: half precision rounds."""
ROLES = ("cross", "encoder", "decoder")
"""The order of the tabs; other roles follow."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a model looked at while it turned one source into one target."""

    source: Sequence[str]
    """Pieces as sentencepiece names them: '▁' marks the start of a word."""
    target: Sequence[str]
    """The pieces that were written; the last is '</s>' unless the length ran out."""
    weights: Mapping[str, Sequence[ArrayLike]]
    """Role → one array per layer, (head, query, key).

    "encoder" is source × source and "cross" target × source. "decoder" is target × target, its keys one
    behind: '<s>' and the pieces before. Any other role has numbered queries (hops) over the source.
    """
    text: str
    translation: str
    """What came out: a translation, or a label."""
    reference: str = ""
    score: float | None = None
    labelled: bool = False
    """Whether what came out is a label."""


@dataclass(frozen=True)
class Side:
    """One edge of the matrices: its pieces, and where words begin among them."""

    pieces: Sequence[str]
    starts: Sequence[int]

    @property
    def words(self) -> list[str]:
        return word_labels(self.pieces, self.starts)


def page_data(title: str, readings: Sequence[Reading], *, note: str = "") -> dict[str, Any]:
    """What the page draws, ready for JSON."""
    if not readings:
        raise InputError("attention page: no sentence to show; give at least one reading")
    return {
        "title": title,
        "note": note,
        "grain": GRAIN,
        "rules": {"half": heads.HALF, "lift": heads.LIFT, "broad": heads.BROAD, "band": heads.BAND},
        "readings": [told(reading, f"reading {number}") for number, reading in enumerate(readings, 1)],
    }


def page(title: str, readings: Sequence[Reading], *, note: str = "") -> str:
    """One HTML page with everything inside: style, script, data."""
    return document(title, {"attention": page_data(title, readings, note=note)})


def write_page(path: Path, title: str, readings: Sequence[Reading], *, note: str = "") -> None:
    """Write the page whole or not at all: what stood at `path` before stays until the new page is on disk."""
    write_text(path, page(title, readings, note=note))


def told(reading: Reading, where: str) -> dict[str, Any]:
    if reading.score is not None and not math.isfinite(reading.score):
        raise InputError(f"{where}: the score is {reading.score}; give a finite number or none")
    order = [role for role in ROLES if role in reading.weights]
    order += [role for role in reading.weights if role not in ROLES]
    return {
        "text": reading.text,
        "translation": reading.translation,
        "labelled": reading.labelled,
        "reference": reading.reference,
        "score": reading.score,
        "roles": [told_role(reading, role, f"{where}, {role}") for role in order if len(reading.weights[role])],
    }


def told_role(reading: Reading, role: str, where: str) -> dict[str, Any]:
    arrays = [np.asarray(layer, dtype=np.float64) for layer in reading.weights[role]]
    queries, keys = sides(reading, role, arrays[0])
    for number, weights in enumerate(arrays, 1):
        check(weights, (len(queries.pieces), len(keys.pieces)), f"{where}, layer {number}")
    open_cells = heads.readable(role, len(queries.pieces), len(keys.pieces))
    merged = [merge_words(weights, queries.starts, keys.starts) for weights in arrays]
    open_words = merge_words(open_cells[None].astype(np.float64), queries.starts, keys.starts)[0] > 0
    starts = {"query_starts": list(queries.starts), "key_starts": list(keys.starts)}
    return {
        "role": role,
        "layers": [{"count": len(weights), "packed": packed(weights * GRAIN)} for weights in arrays],
        "pieces": grid(role, queries.pieces, keys.pieces, arrays, open_cells),
        "words": grid(role, queries.words, keys.words, merged, open_words) | starts,
    }


def sides(reading: Reading, role: str, weights: NDArray[np.float64]) -> tuple[Side, Side]:
    """Queries and keys of a role."""
    source = Side(reading.source, word_starts(reading.source))
    target = Side(reading.target, word_starts(reading.target))
    if role == "encoder":
        return source, source
    if role == "cross":
        slots = weights.shape[2] if weights.ndim == 3 else 0
        return target, source if slots == len(reading.source) or "hops" not in reading.weights else numbered(slots)
    if role == "decoder":
        before = ["<s>", *reading.target[:-1]]
        return target, Side(before, word_starts(before))
    return numbered(weights.shape[1] if weights.ndim == 3 else 0), source


def numbered(count: int) -> Side:
    """Hops, which have no names."""
    return Side([str(number) for number in range(1, count + 1)], range(count))


def check(weights: NDArray[np.float64], shape: tuple[int, int], where: str) -> None:
    if weights.ndim != 3 or weights.shape[1:] != shape or 0 in weights.shape:
        raise InputError(f"{where}: weights are {weights.shape}; give (head, {shape[0]} queries, {shape[1]} keys)")
    sums = weights.sum(axis=2)
    if not (np.isfinite(sums).all() and weights.min() >= 0 and np.abs(sums - 1).max() <= SLACK):
        raise InputError(f"{where}: rows are not probabilities; give weights after the softmax, (head, query, key)")


def grid(
    role: str,
    queries: Sequence[str],
    keys: Sequence[str],
    layers: Sequence[NDArray[np.float64]],
    open_cells: heads.Cells,
) -> dict[str, Any]:
    """The edges of a role's matrices and, for each layer, a summary of each head and last of their mean."""
    where = heads.places(role, len(queries), len(keys))
    return {
        "queries": list(queries),
        "keys": list(keys),
        "summaries": [
            [rounded(asdict(heads.summary(head, open_cells, where))) for head in [*layer, layer.mean(axis=0)]]
            for layer in layers
        ],
    }


def rounded(value: Any) -> Any:
    """Numbers to four decimals, at any depth."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return round(value, 4) if isinstance(value, float) else value
