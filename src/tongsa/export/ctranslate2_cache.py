"""The CTranslate2 models of a run, kept next to it: converted at the first use, and again when the model changes.

`RUN/ctranslate2` and `RUN/ctranslate2-int8` are what `tongsa export` writes, here without the tokenizers for other
programs. An export is current if it was made from the same weights and the same shortlist by the same version of the
conversion, and if its files have their checksums. Any other is replaced under a lock, so processes that start together
convert once. The folder appears when it is complete: a killed conversion leaves nothing that is used.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch

from tongsa import storage
from tongsa.bundle import Bundle
from tongsa.config import did_you_mean
from tongsa.decoding.engines.ctranslate2 import CTranslate2Engine, import_library
from tongsa.decoding.engines.ctranslate2_files import METADATA_FILE, ExportMetadata, load_metadata
from tongsa.decoding.engines.names import ENGINE_NAMES, EngineName
from tongsa.decoding.engines.torch_int8 import quantize_model
from tongsa.errors import InputError
from tongsa.export import SOURCE_TOKENIZER_FILE, default_folder, require_replaceable, write_model, write_tokenizers
from tongsa.export.ctranslate2 import CONVERSION_VERSION, check_supported
from tongsa.export.transformer_weights import UnsupportedModelError
from tongsa.program import format_command

Log = Callable[[str], None]
LARGE_MODEL_PARAMETERS = 100_000_000
"""A larger model is announced before it is converted: the conversion takes seconds."""


def check_engine_name(name: str) -> None:
    if name not in ENGINE_NAMES:
        raise InputError(f"engine {name!r}: unknown engine; {did_you_mean(name, ENGINE_NAMES)}")


def load_engine(bundle: Bundle, name: EngineName, log: Log) -> CTranslate2Engine | None:
    """Return the engine that decodes with a model from disk, or None for torch. A line to `log` tells of a conversion.

    "auto" is None where CTranslate2 is not installed or does not support the model. It is also None where the
    conversion fails, with the reason to `log`. With another name these are errors. "torch-int8" rounds the weights of
    the bundle's model.
    """
    check_engine_name(name)
    if name == "torch-int8":
        quantize_model(bundle.model)
    if name in ("torch", "torch-int8") or (name == "auto" and find_spec("ctranslate2") is None):
        return None
    try:
        check_supported(bundle)
        import_library("ctranslate2")
        return _load_or_convert(bundle, log, int8=name == "ctranslate2-int8")
    except UnsupportedModelError as error:
        if name == "auto":  # without a message: nothing can be done about it
            return None
        raise InputError(f"{error.reason} Use --engine torch.") from None
    except (InputError, OSError) as error:
        if name != "auto":
            raise
        log(f"torch translates, with the same output but slower. {error}")
        return None


def _load_or_convert(bundle: Bundle, log: Log, *, int8: bool) -> CTranslate2Engine:
    if bundle.folder is None:
        raise InputError("engine ctranslate2: this model has no folder. Save it, and load it again.")
    folder = default_folder(bundle.folder, "ctranslate2", int8=int8)
    engine, reason = _load_current(folder, bundle, int8=int8)
    if engine:
        return engine
    if not os.access(folder.parent, os.W_OK):
        command = format_command(
            "export {} --to ctranslate2 --int8" if int8 else "export {} --to ctranslate2", folder.parent
        )
        raise InputError(
            f"{reason}{folder.parent}: a CTranslate2 model cannot be written here. Where it can: {command}"
        )
    with storage.lock_replacement(folder):
        storage.recover_folder(folder)
        engine, reason = _load_current(folder, bundle, int8=int8)
        if engine:  # another process has just converted it
            return engine
        _convert(folder, bundle, lambda message: log(f"{message} {reason}".rstrip()), int8=int8)
        return CTranslate2Engine(folder, torch.get_num_threads(), bundle.shortlist_sha256)


def _load_current(folder: Path, bundle: Bundle, *, int8: bool) -> tuple[CTranslate2Engine | None, str]:
    """Return the engine of an export that is current and intact, or None and a sentence if it is damaged."""
    if not (folder / METADATA_FILE).is_file():
        return None, ""
    try:
        if not _is_current(load_metadata(folder), bundle, int8=int8):
            return None, ""
        engine = CTranslate2Engine(folder, torch.get_num_threads(), bundle.shortlist_sha256)
    except InputError as error:  # damaged, of an older version, or replaced while it was read
        return None, f"Not used: {str(error).partition('. Make ')[0]}. "
    return engine if _is_current(engine.metadata, bundle, int8=int8) else None, ""


def _is_current(metadata: ExportMetadata, bundle: Bundle, *, int8: bool) -> bool:
    expected = ("ctranslate2", CONVERSION_VERSION, bundle.weights_sha256, bundle.shortlist_sha256, int8)
    return expected == (
        metadata.format,
        metadata.version,
        metadata.weights_sha256,
        metadata.shortlist_sha256,
        metadata.int8,
    )


def _convert(folder: Path, bundle: Bundle, log: Log, *, int8: bool) -> None:
    require_replaceable(folder, "Move it away.")
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    if parameters > LARGE_MODEL_PARAMETERS:
        log(f"converting the model for CTranslate2, {parameters / 1e6:,.0f} million parameters …")
    is_for_others = (folder / SOURCE_TOKENIZER_FILE).is_file()  # made by `tongsa export`
    with storage.replace_folder(folder) as new:
        write_model(new, bundle, "ctranslate2", int8=int8)
        if is_for_others:
            write_tokenizers(new, bundle)
    megabytes = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    effect = "with 8-bit weights" if int8 else "with the same output"
    log(
        f"converted the model for CTranslate2 in {folder} ({megabytes:,.1f} MB): faster translation, {effect}. "
        "It is made again when the model changes."
    )
