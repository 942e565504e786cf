"""Export of a trained model to the formats of other programs: CTranslate2, Hugging Face, ONNX."""

import json
from pathlib import Path
from typing import Any, Protocol

from tongsa import bundle, storage
from tongsa.bundle import Bundle
from tongsa.decoding.engines.ctranslate2 import METADATA_FILE
from tongsa.errors import InputError
from tongsa.export import ctranslate2, huggingface, onnx
from tongsa.export.sentencepiece_model import portable_model
from tongsa.tokenization.subword import SubwordTokenizer


class Exporter(Protocol):
    """Function that writes a model into a folder and returns metadata for its users."""

    def __call__(self, folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]: ...


FORMATS: dict[str, Exporter] = {"ctranslate2": ctranslate2.write, "huggingface": huggingface.write, "onnx": onnx.write}


def export(run: Path, export_format: str, folder: Path | None = None, *, int8: bool = False) -> Path:
    """Export the model of a run to `folder`, by default `run`/`export_format`, and return that folder."""
    if export_format not in FORMATS:
        raise InputError(f"{export_format!r}: not an export format. Use {', '.join(FORMATS)}.")
    if int8 and export_format != "ctranslate2":
        raise InputError(f"--int8: not available with --to {export_format}. Leave it out, or use --to ctranslate2.")
    source = bundle.find_bundle(run)
    folder = folder or bundle.artifact_folder(source) / export_format  # where tongsa translate looks for it
    _check_replaceable(folder)
    loaded = bundle.load_bundle(source)
    with storage.replace_folder(folder) as new:
        metadata = FORMATS[export_format](new, loaded, int8=int8)
        (new / "source.spm").write_bytes(portable_model(loaded.source_tokenizer))
        if isinstance(loaded.target_tokenizer, SubwordTokenizer):  # labels are listed in the metadata
            (new / "target.spm").write_bytes(portable_model(loaded.target_tokenizer))
        origin = {"format": export_format, "weights_sha256": storage.file_sha256(source / "weights.safetensors")}
        (new / METADATA_FILE).write_text(json.dumps(origin | metadata, indent=1), "utf-8", newline="\n")
    return folder


def _check_replaceable(folder: Path) -> None:
    """Raise InputError unless the folder is missing, empty or an older export: it will be replaced."""
    storage.recover_folder(folder)
    if not folder.exists() or (folder / METADATA_FILE).is_file() or (folder.is_dir() and not any(folder.iterdir())):
        return
    raise InputError(f"{folder}: exists and is not an export. Choose another folder with -o.")
