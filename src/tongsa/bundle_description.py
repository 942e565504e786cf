"""The description of a bundle, model.toml: typed, with the checksums of the other files."""

import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tongsa import config as settings
from tongsa import storage
from tongsa.bounded_files import MAX_JSON_BYTES, MAX_PROFILE_BYTES, MAX_TOKENIZER_BYTES
from tongsa.config import ConfigError
from tongsa.data.model_summary import ModelSummary
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError

DESCRIPTION_FILE, WEIGHTS_FILE, TOKENIZER_FILE = "model.toml", "weights.safetensors", "tokenizer.model"
LABELS_FILE, TARGET_TOKENIZER_FILE, PROFILE_FILE = "labels.json", "target-tokenizer.model", "profile.safetensors"
MAX_FILE_BYTES = {
    TOKENIZER_FILE: MAX_TOKENIZER_BYTES,
    TARGET_TOKENIZER_FILE: MAX_TOKENIZER_BYTES,
    LABELS_FILE: MAX_JSON_BYTES,
    PROFILE_FILE: MAX_PROFILE_BYTES,
}
"""Files of a bundle besides the weights, and their largest sizes."""
FORMAT_VERSION = 1
"""Increased when older versions of tongsa could not read what this one writes."""
MAX_STORED_BEAM = 1_000
"""Widest beam that a model may bring as its default; `--beam` may be wider."""
MAX_NAME_CHARACTERS = 100
"""Longest name of a language or a metric."""
LOAD_REMEDY = "Copy it again, or train again."


class BundleError(InputError):
    """A folder that contains no model, or a damaged one."""


@dataclass(frozen=True, kw_only=True)
class BundleDescription:
    """Content of model.toml."""

    kind: str
    jamo: bool
    source_language: str
    target_language: str
    model: Any
    """Settings of the model: a table, typed by its kind."""
    decoding: DecodingConfig
    sha256: Any
    """Checksums: file name → SHA-256."""
    metrics: tuple[str, ...] = ()
    term_replacement: bool = False
    summary: ModelSummary = field(default_factory=ModelSummary)

    def __post_init__(self) -> None:
        for name in (self.kind, self.source_language, self.target_language, *self.metrics, self.summary.metric):
            if len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
                raise ValueError(f"{name[:MAX_NAME_CHARACTERS]!r}: not the name of a kind, language or metric")
        if not isinstance(self.model, dict):
            raise ValueError("model: not a table")
        if self.decoding.beam > MAX_STORED_BEAM:
            raise ValueError(f"[decoding] beam: {self.decoding.beam} is not at most {MAX_STORED_BEAM:,}")
        if not isinstance(self.sha256, dict) or not self.sha256.keys() >= {WEIGHTS_FILE, TOKENIZER_FILE}:
            raise ValueError("sha256: no checksum of the weights or the tokenizer")
        for name, digest in self.sha256.items():
            if name != WEIGHTS_FILE and name not in MAX_FILE_BYTES:
                raise ValueError(f"sha256: {name[:MAX_NAME_CHARACTERS]!r} is not a file of a model")
            if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
                raise ValueError(f"sha256: {name}: not a SHA-256")


def read_description(folder: Path) -> BundleDescription:
    """Read model.toml; raise BundleError if it is damaged or of another format."""
    path = folder / DESCRIPTION_FILE
    table = settings.read_folder_toml(path)
    version = table.get("format")
    if type(version) is not int:
        raise BundleError(f"{path}: damaged (no format number). Copy the whole folder again.")
    if version != FORMAT_VERSION:
        age = "a newer" if version > FORMAT_VERSION else "an older"
        raise BundleError(
            f"{folder}: bundle format {version}, written by {age} tongsa; this one reads format {FORMAT_VERSION}. "
            "Use the tongsa version that wrote it, or train again."
        )
    known = {setting.name for setting in fields(BundleDescription)}
    try:
        return settings.build_config(BundleDescription, {key: value for key, value in table.items() if key in known})
    except ConfigError as error:
        raise BundleError(f"{path}: damaged ({str(error).rstrip('.')}). {LOAD_REMEDY}") from None


def read_files(folder: Path, description: BundleDescription) -> dict[str, bytes]:
    """Return the content of all files besides the weights; raise InputError if a checksum is wrong."""
    return {
        name: storage.read_verified(folder / name, description.sha256[name], max_bytes)
        for name, max_bytes in MAX_FILE_BYTES.items()
        if name in description.sha256
    }


def count_layers(config: object) -> int:
    """Return the sum of all settings of a model that count layers; each layer has at least one tensor.

    Layers with the same weights (`tie_…`) count as one.
    """
    settings = vars(config)
    counts = {name: value for name, value in settings.items() if name.endswith("layers") and type(value) is int}
    return sum(1 if settings.get(f"tie_{name}") is True else count for name, count in counts.items())
