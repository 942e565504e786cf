"""Export of a trained model to the formats of other programs: CTranslate2, Hugging Face, ONNX."""

import json
from pathlib import Path
from typing import Any, Protocol

from tongsa import bundle, storage
from tongsa.bundle import Bundle
from tongsa.decoding.engines.ctranslate2_files import METADATA_CHECKSUM, METADATA_FILE, metadata_checksum
from tongsa.errors import InputError
from tongsa.export import ctranslate2, huggingface, onnx
from tongsa.export.sentencepiece_model import portable_model
from tongsa.tokenization.subword import SubwordTokenizer


class Exporter(Protocol):
    """Function that writes a model into a folder and returns metadata for its users."""

    def __call__(self, folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]: ...


SOURCE_TOKENIZER_FILE = "source.spm"
FORMATS: dict[str, Exporter] = {"ctranslate2": ctranslate2.write, "huggingface": huggingface.write, "onnx": onnx.write}


def export(run: Path, export_format: str, folder: Path | None = None, *, int8: bool = False) -> Path:
    """Export the model of a run to `folder` and return it; by default `run`/`export_format`, with "-int8" for int8."""
    if export_format not in FORMATS:
        raise InputError(f"{export_format!r}: not an export format. Use {', '.join(FORMATS)}.")
    if int8 and export_format != "ctranslate2":
        raise InputError(f"--int8: not available with --to {export_format}. Leave it out, or use --to ctranslate2.")
    source = bundle.find_bundle(run)
    folder = folder or default_folder(source, export_format, int8=int8)
    with storage.lock_replacement(folder):
        require_replaceable(folder, "Choose another folder with -o.")
        loaded = bundle.load_bundle(source)
        with storage.replace_folder(folder) as new:
            write_model(new, loaded, export_format, int8=int8)
            write_tokenizers(new, loaded)
    return folder


def default_folder(bundle_folder: Path, export_format: str, *, int8: bool) -> Path:
    """Return the folder of an export next to the model, where the decoding engines look for it."""
    return bundle.artifact_folder(bundle_folder) / (f"{export_format}-int8" if int8 else export_format)


def write_model(folder: Path, loaded: Bundle, export_format: str, *, int8: bool) -> None:
    """Write a model and its metadata into an empty folder: all that tongsa itself reads."""
    metadata = FORMATS[export_format](folder, loaded, int8=int8)
    content = {"format": export_format, "weights_sha256": loaded.weights_sha256} | metadata
    content[METADATA_CHECKSUM] = metadata_checksum(content)
    (folder / METADATA_FILE).write_text(json.dumps(content, indent=1), "utf-8", newline="\n")


def write_tokenizers(folder: Path, loaded: Bundle) -> None:
    """Write the tokenizers for other programs. Their normalization rules take seconds to compile."""
    (folder / SOURCE_TOKENIZER_FILE).write_bytes(portable_model(loaded.source_tokenizer))
    if isinstance(loaded.target_tokenizer, SubwordTokenizer):  # labels are listed in the metadata
        (folder / "target.spm").write_bytes(portable_model(loaded.target_tokenizer))


def require_replaceable(folder: Path, remedy: str) -> None:
    """Raise InputError unless the folder is missing, empty or an older export: it will be replaced."""
    if not folder.exists() or (folder / METADATA_FILE).is_file() or (folder.is_dir() and not any(folder.iterdir())):
        return
    raise InputError(f"{folder}: exists and is not an export. {remedy}")
