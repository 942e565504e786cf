"""Files of a CTranslate2 export and their checksums: one that was changed is not used.

CTranslate2 itself checks little: a changed byte of its model gives other translations, not an error.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tongsa import config, storage
from tongsa.bounded_files import UnreadableFileError, read_json
from tongsa.config import ConfigError, NonNegative, Positive, check_ranges
from tongsa.decoding.engines.names import EngineName
from tongsa.errors import InputError
from tongsa.program import format_command

METADATA_FILE = "tongsa.json"
"""Metadata file in each exported folder, with the hash of the exported weights."""
VMAP_FILE = "vmap.txt"
"""The shortlist in CTranslate2's format."""
REQUIRED_FILES = ("config.json", "model.bin")
OPTIONAL_FILES = tuple(
    f"{name}_vocabulary.{suffix}" for name in ("shared", "source", "target") for suffix in ("json", "txt")
)
METADATA_CHECKSUM = "metadata_sha256"
"""Key of the checksum of all other entries."""


@dataclass(frozen=True, kw_only=True)
class ExportMetadata:
    """Description of an exported folder."""

    format: str
    weights_sha256: str
    """SHA-256 of the weights that it was made from."""
    max_positions: Positive
    """Longest sequence, EOS included, that the model can process on either side."""
    exported_positions: Positive
    """Longest sequence that the export can process: shorter if the model has no limit."""
    int8: bool
    version: NonNegative
    """Version of the conversion; see `CONVERSION_VERSION` in export/ctranslate2.py."""
    sha256: Any
    """SHA-256 of each file that CTranslate2 reads."""
    total_bytes: NonNegative
    """Size of these files together: a file of another size needs no checksum to be refused."""
    shortlist_sha256: str = ""
    """SHA-256 of the shortlist that was exported; empty if there was none."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if not isinstance(self.sha256, dict) or not all(
            isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) for digest in self.sha256.values()
        ):
            raise ValueError("sha256: not a table of checksums")

    @property
    def engine(self) -> EngineName:
        """Name of the engine that decodes with this export."""
        return "ctranslate2-int8" if self.int8 else "ctranslate2"


def metadata_checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all entries of tongsa.json except itself."""
    return storage.table_sha256({name: value for name, value in content.items() if name != METADATA_CHECKSUM})


def load_metadata(folder: Path) -> ExportMetadata:
    """Read tongsa.json; raise InputError if there is none or it was changed."""
    try:
        content = read_json(folder / METADATA_FILE)
        if not isinstance(content, dict) or content.get("format") != "ctranslate2":
            raise InputError("not that of a CTranslate2 model")
        is_intact = content.get(METADATA_CHECKSUM) == metadata_checksum(content)
        known = {field.name for field in fields(ExportMetadata)}
        metadata = config.build_config(ExportMetadata, {key: content[key] for key in known if key in content})
    except ConfigError as error:
        raise damaged_error(folder, f"{METADATA_FILE}: {error}") from None
    except InputError:
        raise InputError(
            f"{folder}: no CTranslate2 model. Make one: {format_command('export RUN --to ctranslate2')}"
        ) from None
    if not is_intact:
        raise damaged_error(folder, f"{METADATA_FILE} was changed, or is of an older version")
    return metadata


def verify_files(folder: Path, metadata: ExportMetadata) -> None:
    """Raise InputError unless the files that CTranslate2 reads are those that were written, and no others."""
    names = (*REQUIRED_FILES, *OPTIONAL_FILES, VMAP_FILE)
    present = {name for name in names if (folder / name).is_symlink() or (folder / name).exists()}
    if present.symmetric_difference(metadata.sha256):
        name = min(present.symmetric_difference(metadata.sha256))
        raise damaged_error(folder, f"{name[:100]!r} is missing or was added")
    if sum((folder / name).lstat().st_size for name in present) != metadata.total_bytes:
        raise damaged_error(folder, "the files have another size")
    for name, digest in metadata.sha256.items():
        try:
            is_intact = storage.folder_file_sha256(folder / name) == digest
        except UnreadableFileError as error:
            raise damaged_error(folder, f"{name}: {error.reason}") from None
        if not is_intact:
            raise damaged_error(folder, f"{name} was changed")


def damaged_error(folder: Path, reason: object) -> InputError:
    return InputError(f"{folder}: damaged ({reason}). Make it again: {format_command('export RUN --to ctranslate2')}")
