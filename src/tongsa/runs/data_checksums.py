"""Checksums of the training files of a run, data.json: path → SHA-256."""

from pathlib import Path

from tongsa.bounded_files import UnreadableFileError, read_json
from tongsa.errors import InputError


def read_data_checksums(path: Path) -> dict[str, str]:
    """Return the content of data.json; raise InputError if it is damaged."""
    try:
        content = read_json(path)
    except UnreadableFileError as error:
        raise _damaged_error(path, error.reason) from None
    if not isinstance(content, dict) or not all(isinstance(digest, str) for digest in content.values()):
        raise _damaged_error(path, "damaged")
    return content


def _damaged_error(path: Path, reason: str) -> InputError:
    return InputError(f"{path}: {reason}. Remove it if the data are unchanged since the run started.")
