"""Attention weights of some sentences as data for the page: all roles, layers and heads."""

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
from tongsa.visualize.head_patterns import HeadSummary, common_pattern
from tongsa.visualize.mechanism import UNMASKED, Mechanism, default_mechanisms
from tongsa.visualize.packing import pack_uint16
from tongsa.visualize.page import render_html

QUANTIZATION_SCALE = 10_000
"""Weights are stored as integers, multiplied by this: four decimals are enough, and the page stays small."""
ROW_SUM_TOLERANCE = 0.02
"""Largest accepted distance of a row's sum from 1; half precision rounds."""
ROLE_ORDER = ("cross", "encoder", "decoder")
"""Order of the tabs; other roles follow."""


@dataclass(frozen=True, kw_only=True)
class AttentionExample:
    """Attention weights of a model for one source and one target."""

    source_tokens: Sequence[str]
    """Tokens as SentencePiece writes them: '▁' marks the start of a word."""
    target_tokens: Sequence[str]
    """The output tokens; the last is '</s>' unless the output reached its maximum length."""
    weights: Mapping[str, Sequence[ArrayLike]]
    """Role → one array per layer, (head, query, key).

    "encoder" is source × source and "cross" is target × source. "decoder" is target × target, with the keys
    shifted by one: '<s>' and the tokens before. Any other role has numbered queries (hops) over the source.
    """
    text: str
    translation: str
    """The output: a translation, or a label."""
    reference: str = ""
    score: float | None = None
    is_label: bool = False
    """True if `translation` is a label."""


@dataclass(frozen=True)
class Axis:
    """Queries or keys of a matrix: the tokens, and the index of each word's first token."""

    tokens: Sequence[str]
    word_starts: Sequence[int]

    @property
    def words(self) -> list[str]:
        return word_strings(self.tokens, self.word_starts)


def page_data(
    title: str,
    examples: Sequence[AttentionExample],
    *,
    note: str = "",
    mechanisms: Mapping[str, Mechanism] | None = None,
    samples: Sequence[AttentionExample] = (),
) -> dict[str, Any]:
    """Return the page's data, ready for JSON.

    `mechanisms` has the score function and the mask of each role. Heads are named after the examples and the
    `samples`, further sentences that are not shown.
    """
    if not examples:
        raise InputError("attention page: no sentence. Give at least one example.")
    known = mechanisms or default_mechanisms(examples)
    data = [example_data(example, f"example {number}", known) for number, example in enumerate(examples, 1)]
    sample_data = [example_data(example, f"sample {number}", known) for number, example in enumerate(samples, 1)]
    return {
        "title": title,
        "note": note,
        "quantization_scale": QUANTIZATION_SCALE,
        "thresholds": head_patterns.THRESHOLDS,
        "mechanisms": {role: asdict(mechanism) for role, mechanism in known.items()},
        "head_names": head_names([*data, *sample_data]),
        "examples": data,
    }


def head_names(examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return role → unit → layer → head → the pattern that most sentences have, with their number."""
    roles: dict[str, list[Mapping[str, Any]]] = {}
    for example in examples:
        for role in example["roles"]:
            roles.setdefault(role["role"], []).append(role)
    return {
        role: {
            unit: [
                [common_pattern([head["pattern"] for head in heads]) for heads in zip(*layers, strict=True)]
                for layers in zip(*(sentence[unit]["summaries"] for sentence in sentences), strict=True)
            ]
            for unit in ("tokens", "words")
        }
        for role, sentences in roles.items()
    }


def sentence_data(example: AttentionExample) -> dict[str, Any]:
    """Return the texts of a sentence for the page's header."""
    return {
        "text": example.text,
        "translation": example.translation,
        "is_label": example.is_label,
        "reference": example.reference,
        "score": example.score,
    }


def page_html(title: str, examples: Sequence[AttentionExample], *, note: str = "") -> str:
    """Return a self-contained HTML page with style, script and data."""
    panels = {"attention": page_data(title, examples, note=note)}
    return render_html(title, panels, [sentence_data(example) for example in examples])


def write_page(path: Path, title: str, examples: Sequence[AttentionExample], *, note: str = "") -> None:
    """Write the page atomically: a file at `path` stays as it was until the new page is on disk."""
    write_text(path, page_html(title, examples, note=note))


def example_data(example: AttentionExample, location: str, mechanisms: Mapping[str, Mechanism]) -> dict[str, Any]:
    if example.score is not None and not math.isfinite(example.score):
        raise InputError(f"{location}: the score is {example.score}. Give a finite number or None.")
    roles = [role for role in ROLE_ORDER if role in example.weights]
    roles += [role for role in example.weights if role not in ROLE_ORDER]
    return sentence_data(example) | {
        "roles": [
            role_data(example, role, f"{location}, {role}", mechanisms.get(role, UNMASKED))
            for role in roles
            if len(example.weights[role])
        ]
    }


def role_data(example: AttentionExample, role: str, location: str, mechanism: Mechanism) -> dict[str, Any]:
    """Return the packed weights of a role, and the summaries of its heads by token and by word."""
    layers = [np.asarray(layer, dtype=np.float64) for layer in example.weights[role]]
    queries, keys = axes(example, role, layers[0])
    for number, weights in enumerate(layers, 1):
        check_weights(weights, (len(queries.tokens), len(keys.tokens)), f"{location}, layer {number}")
    mask = mechanism.allowed_cells(len(queries.tokens), len(keys.tokens))
    word_layers = [merge_words(weights, queries.word_starts, keys.word_starts) for weights in layers]
    word_mask = merge_words(mask[None].astype(np.float64), queries.word_starts, keys.word_starts)[0] > 0
    starts = {"query_starts": list(queries.word_starts), "key_starts": list(keys.word_starts)}
    return {
        "role": role,
        "layers": [{"count": len(weights), "packed": pack_uint16(weights * QUANTIZATION_SCALE)} for weights in layers],
        "tokens": grid_data(role, queries.tokens, keys.tokens, layers, mask),
        "words": grid_data(role, queries.words, keys.words, word_layers, word_mask) | starts,
    }


def axes(example: AttentionExample, role: str, weights: NDArray[np.float64]) -> tuple[Axis, Axis]:
    """Return the queries and the keys of a role."""
    source = Axis(example.source_tokens, word_starts(example.source_tokens))
    target = Axis(example.target_tokens, word_starts(example.target_tokens))
    if role == "encoder":
        return source, source
    if role == "cross":
        slots = weights.shape[2] if weights.ndim == 3 else 0
        # a decoder over hops reads numbered slots, not source tokens
        reads_hops = "hops" in example.weights and slots != len(example.source_tokens)
        return target, numbered_axis(slots) if reads_hops else source
    if role == "decoder":
        previous = ["<s>", *example.target_tokens[:-1]]
        return target, Axis(previous, word_starts(previous))
    return numbered_axis(weights.shape[1] if weights.ndim == 3 else 0), source


def numbered_axis(count: int) -> Axis:
    """Return an axis of hops, labeled by their numbers from 1."""
    return Axis([str(number) for number in range(1, count + 1)], range(count))


def check_weights(weights: NDArray[np.float64], shape: tuple[int, int], location: str) -> None:
    """Raise InputError unless the weights have the expected shape and each row is a probability distribution."""
    if weights.ndim != 3 or weights.shape[1:] != shape or 0 in weights.shape:
        raise InputError(
            f"{location}: weights have shape {weights.shape}. Give (head, {shape[0]} queries, {shape[1]} keys)."
        )
    sums = weights.sum(axis=2)
    if not (np.isfinite(sums).all() and weights.min() >= 0 and np.abs(sums - 1).max() <= ROW_SUM_TOLERANCE):
        raise InputError(
            f"{location}: the rows are not probabilities. Give weights after the softmax, (head, query, key)."
        )


def grid_data(
    role: str,
    queries: Sequence[str],
    keys: Sequence[str],
    layers: Sequence[NDArray[np.float64]],
    mask: head_patterns.Mask,
) -> dict[str, Any]:
    """Return the labels of both axes and, for each layer, a summary of each head and last of the heads' mean."""
    patterns = head_patterns.pattern_masks(role, len(queries), len(keys))

    def summary(head: NDArray[np.float64]) -> HeadSummary:
        return head_patterns.summarize_head(head, mask, patterns)

    return {
        "queries": list(queries),
        "keys": list(keys),
        "summaries": [
            [round_floats(asdict(summary(head))) for head in [*layer, layer.mean(axis=0)]] for layer in layers
        ],
    }


def round_floats(value: Any) -> Any:
    """Round all floats in nested dictionaries to four decimals."""
    if isinstance(value, dict):
        return {key: round_floats(inner) for key, inner in value.items()}
    return round(value, 4) if isinstance(value, float) else value
