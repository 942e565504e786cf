"""A trained model in the formats of other programs."""

import json
from pathlib import Path
from typing import Any, Protocol

from tongsa import bundle, storage
from tongsa.bundle import Bundle
from tongsa.decoding.engines.ctranslate2 import METADATA_FILE
from tongsa.errors import InputError
from tongsa.export import ctranslate2, huggingface, onnx


class Exporter(Protocol):
    """Fills a folder with a model, and tells what its readers need to know."""

    def __call__(self, folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]: ...


FORMATS: dict[str, Exporter] = {"ctranslate2": ctranslate2.write, "huggingface": huggingface.write, "onnx": onnx.write}


def export(run: Path, export_format: str, folder: Path | None = None, *, int8: bool = False) -> Path:
    """The folder in which the model of a run now stands in another format: `run`/`to` where none is named."""
    source = bundle.find_bundle(run)
    folder = folder or bundle.artifact_folder(source) / export_format  # where tongsa translate looks for it
    _check_replaceable(folder)
    loaded = bundle.load_bundle(source)
    with storage.replace_folder(folder) as new:
        facts = FORMATS[export_format](new, loaded, int8=int8)
        (new / "source.spm").write_bytes(loaded.source_tokenizer.model_bytes)
        if loaded.config.task != "classification":  # those are told in the note
            (new / "target.spm").write_bytes(loaded.target_tokenizer.model_bytes)
        made = {"format": export_format, "weights_sha256": storage.file_sha256(source / "weights.safetensors")}
        (new / METADATA_FILE).write_text(json.dumps(made | facts, indent=1), "utf-8")
    return folder


def _check_replaceable(folder: Path) -> None:
    """What stands in the folder is thrown away, so it has to be an older export, or nothing."""
    storage.recover_folder(folder)
    if not folder.exists() or (folder / METADATA_FILE).is_file() or (folder.is_dir() and not any(folder.iterdir())):
        return
    raise InputError(f"{folder}: holds something else than an export; name another folder with -o")
