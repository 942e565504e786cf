"""Sentences with weights that can be checked by eye."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tongsa.visualize import AttentionExample

SOURCE = ["▁I", "▁go", "▁home", "</s>"]
TARGET = ["▁나", "는", "▁집", "에", "▁간다", "</s>"]


def weights(shape: tuple[int, int, int], seed: int = 0) -> NDArray[np.float64]:
    """Random rows that sum to one."""
    return np.random.default_rng(seed).dirichlet(np.ones(shape[2]), size=shape[:2])


def causal(heads: int, length: int) -> NDArray[np.float64]:
    rows: NDArray[np.float64] = np.tril(weights((heads, length, length)))
    rows /= rows.sum(axis=2, keepdims=True)
    return rows


def reading(text: str = "I go home", source: Sequence[str] = SOURCE) -> AttentionExample:
    s, t = len(source), len(TARGET)
    return AttentionExample(
        source_tokens=source,
        target_tokens=TARGET,
        weights={
            "encoder": [weights((2, s, s), seed) for seed in (1, 2)],
            "decoder": [causal(2, t), causal(2, t)],
            "cross": [weights((2, t, s), seed) for seed in (3, 4)],
        },
        text=text,
        translation="나는 집에 간다",
        score=-1.25,
    )
