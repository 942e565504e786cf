"""Attention, looked into: every role, layer and head of some sentences on one page that needs no network."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tongsa.errors import InputError
from tongsa.storage import write_text
from tongsa.tokenization.words import merge_words, word_starts, word_strings
from tongsa.visualize import head_patterns
from tongsa.visualize.packing import pack_uint16
from tongsa.visualize.page import render_html

QUANTIZATION_SCALE = 10_000
"""Weights are stored as whole numbers of this part, packed layer by layer: four decimals, and the page stays small."""
ROW_SUM_TOLERANCE = 0.02
"""How far a row may be from one: half precision rounds."""
ROLE_ORDER = ("cross", "encoder", "decoder")
"""The order of the tabs; other roles follow."""


@dataclass(frozen=True, kw_only=True)
class AttentionExample:
    """What a model looked at while it turned one source into one target."""

    source_tokens: Sequence[str]
    """Pieces as sentencepiece names them: '▁' marks the start of a word."""
    target_tokens: Sequence[str]
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
    is_label: bool = False
    """Whether what came out is a label."""


@dataclass(frozen=True)
class Axis:
    """One edge of the matrices: its pieces, and where words begin among them."""

    tokens: Sequence[str]
    word_starts: Sequence[int]

    @property
    def words(self) -> list[str]:
        return word_strings(self.tokens, self.word_starts)


def page_data(title: str, examples: Sequence[AttentionExample], *, note: str = "") -> dict[str, Any]:
    """What the page draws, ready for JSON."""
    if not examples:
        raise InputError("attention page: no sentence to show; give at least one reading")
    return {
        "title": title,
        "note": note,
        "grain": QUANTIZATION_SCALE,
        "rules": {
            "half": head_patterns.MIN_PATTERN_SHARE,
            "lift": head_patterns.MIN_PATTERN_LIFT,
            "broad": head_patterns.MIN_BROAD_ENTROPY,
            "band": head_patterns.DIAGONAL_BAND,
        },
        "readings": [example_data(reading, f"reading {number}") for number, reading in enumerate(examples, 1)],
    }


def page_html(title: str, examples: Sequence[AttentionExample], *, note: str = "") -> str:
    """One HTML page with everything inside: style, script, data."""
    return render_html(title, {"attention": page_data(title, examples, note=note)})


def write_page(path: Path, title: str, examples: Sequence[AttentionExample], *, note: str = "") -> None:
    """Write the page whole or not at all: what stood at `path` before stays until the new page is on disk."""
    write_text(path, page_html(title, examples, note=note))


def example_data(example: AttentionExample, location: str) -> dict[str, Any]:
    if example.score is not None and not math.isfinite(example.score):
        raise InputError(f"{location}: the score is {example.score}; give a finite number or none")
    order = [role for role in ROLE_ORDER if role in example.weights]
    order += [role for role in example.weights if role not in ROLE_ORDER]
    return {
        "text": example.text,
        "translation": example.translation,
        "labelled": example.is_label,
        "reference": example.reference,
        "score": example.score,
        "roles": [role_data(example, role, f"{location}, {role}") for role in order if len(example.weights[role])],
    }


def role_data(example: AttentionExample, role: str, location: str) -> dict[str, Any]:
    arrays = [np.asarray(layer, dtype=np.float64) for layer in example.weights[role]]
    queries, keys = axes(example, role, arrays[0])
    for number, weights in enumerate(arrays, 1):
        check_weights(weights, (len(queries.tokens), len(keys.tokens)), f"{location}, layer {number}")
    open_cells = head_patterns.attention_mask(role, len(queries.tokens), len(keys.tokens))
    merged = [merge_words(weights, queries.word_starts, keys.word_starts) for weights in arrays]
    open_words = merge_words(open_cells[None].astype(np.float64), queries.word_starts, keys.word_starts)[0] > 0
    starts = {"query_starts": list(queries.word_starts), "key_starts": list(keys.word_starts)}
    return {
        "role": role,
        "layers": [{"count": len(weights), "packed": pack_uint16(weights * QUANTIZATION_SCALE)} for weights in arrays],
        "pieces": grid_data(role, queries.tokens, keys.tokens, arrays, open_cells),
        "words": grid_data(role, queries.words, keys.words, merged, open_words) | starts,
    }


def axes(example: AttentionExample, role: str, weights: NDArray[np.float64]) -> tuple[Axis, Axis]:
    """Queries and keys of a role."""
    source = Axis(example.source_tokens, word_starts(example.source_tokens))
    target = Axis(example.target_tokens, word_starts(example.target_tokens))
    if role == "encoder":
        return source, source
    if role == "cross":
        slots = weights.shape[2] if weights.ndim == 3 else 0
        return target, source if slots == len(
            example.source_tokens
        ) or "hops" not in example.weights else numbered_axis(slots)
    if role == "decoder":
        before = ["<s>", *example.target_tokens[:-1]]
        return target, Axis(before, word_starts(before))
    return numbered_axis(weights.shape[1] if weights.ndim == 3 else 0), source


def numbered_axis(count: int) -> Axis:
    """Hops, which have no names."""
    return Axis([str(number) for number in range(1, count + 1)], range(count))


def check_weights(weights: NDArray[np.float64], shape: tuple[int, int], location: str) -> None:
    if weights.ndim != 3 or weights.shape[1:] != shape or 0 in weights.shape:
        raise InputError(f"{location}: weights are {weights.shape}; give (head, {shape[0]} queries, {shape[1]} keys)")
    sums = weights.sum(axis=2)
    if not (np.isfinite(sums).all() and weights.min() >= 0 and np.abs(sums - 1).max() <= ROW_SUM_TOLERANCE):
        raise InputError(f"{location}: rows are not probabilities; give weights after the softmax, (head, query, key)")


def grid_data(
    role: str,
    queries: Sequence[str],
    keys: Sequence[str],
    layers: Sequence[NDArray[np.float64]],
    mask: head_patterns.Mask,
) -> dict[str, Any]:
    """The edges of a role's matrices and, for each layer, a summary of each head and last of their mean."""
    where = head_patterns.pattern_masks(role, len(queries), len(keys))
    return {
        "queries": list(queries),
        "keys": list(keys),
        "summaries": [
            [
                round_floats(asdict(head_patterns.summarize_head(head, mask, where)))
                for head in [*layer, layer.mean(axis=0)]
            ]
            for layer in layers
        ],
    }


def round_floats(value: Any) -> Any:
    """Numbers to four decimals, at any depth."""
    if isinstance(value, dict):
        return {key: round_floats(inner) for key, inner in value.items()}
    return round(value, 4) if isinstance(value, float) else value
