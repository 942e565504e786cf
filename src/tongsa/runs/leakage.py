"""Overlap of a test set with the training files of a run, and of the run that it was initialized from."""

from collections.abc import Sequence
from pathlib import Path

from tongsa.checks.corpus import check_leakage
from tongsa.checks.finding import Finding
from tongsa.data.ledger import Pair
from tongsa.errors import InputError
from tongsa.runs.training_files import read_training_pairs


def find_leakage(model_folder: Path, test: Sequence[Pair]) -> Finding:
    """Return how much of a test set is in the training files of a model; a remark if these cannot be read."""
    try:
        return check_leakage(read_training_pairs(model_folder), test, "test")
    except InputError as error:
        return Finding(name="leakage into test", level="remark", seen=f"not checked: {error}")
