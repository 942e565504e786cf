"""The demo's pairs as the data of a ladder: the test set has both its usual and its longer sentences."""

from pathlib import Path

from tongsa import storage
from tongsa.demo import write_splits
from tongsa.runs.grid_plan import DataFiles


def write_phrasebook(folder: Path) -> DataFiles:
    """Write the pairs as files of a folder; a second call writes the same bytes."""
    with storage.explain_os_errors(folder):
        paths = {split: str(path) for split, path in write_splits(folder).items()}
    return DataFiles(train=(paths["train"],), dev=(paths["dev"],), test=(paths["test"], paths["test-long"]))
