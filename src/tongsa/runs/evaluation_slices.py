"""Slices of an evaluation: which ones a model allows, and the word counts of its training files."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tongsa.errors import InputError
from tongsa.evaluation.evaluate import EvaluationReport, Pairs
from tongsa.evaluation.slices import (
    SliceTable,
    count_words,
    slice_by_frequency,
    slice_by_length,
    slice_by_position,
    word_splitter,
)
from tongsa.interface import Task
from tongsa.runs.training_files import read_training_pairs

SliceName = Literal["length", "frequency", "position"]
SLICE_NAMES: tuple[SliceName, ...] = ("length", "frequency", "position")
WORD_SCORES = {"frequency": ("f1",), "position": ("recall", "precision")}
"""Scores of words that a page shows for each slice."""


def check_slices(names: Sequence[str], task: Task) -> None:
    """Raise InputError for an unknown slice, and for one of output words if the model writes no text."""
    for name in names:
        if name not in SLICE_NAMES:
            raise InputError(f"--by {name}: unknown. Use {', '.join(SLICE_NAMES)}.")
        if name != "length" and task != "seq2seq":
            raise InputError(f"--by {name}: only for models that translate. Use --by length.")


def training_word_counts(folder: Path | None, references: Sequence[str]) -> Counter[str]:
    """Return how often each target word occurs in the training files of a model; `references` show its script."""
    if folder is None:
        raise InputError("--by frequency: this model was never saved, so its training files are unknown.")
    try:
        pairs = read_training_pairs(folder)
    except InputError as error:
        raise InputError(f"--by frequency: the training files cannot be read. {error}") from None
    return count_words((pair.target for pair in pairs), word_splitter(references))


def compute_slices(
    names: Sequence[str], report: EvaluationReport, pairs: Pairs, counts: Counter[str]
) -> list[SliceTable]:
    """Return the slices with these names; `counts` are those of `training_word_counts`."""
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    split = word_splitter(references)
    tables = {
        "length": lambda: slice_by_length(report.statistics, sources, references),
        "frequency": lambda: slice_by_frequency(report.outputs, references, counts, split),
        "position": lambda: slice_by_position(report.outputs, references, split),
    }
    return [tables[name]() for name in dict.fromkeys(names)]
