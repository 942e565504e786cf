"""A trained model in the formats of other programs."""

import json
from pathlib import Path
from typing import Any, Protocol

from tongsa import bundle, files
from tongsa.bundle import Bundle
from tongsa.decoding.ctranslate2_engine import NOTE
from tongsa.errors import InputError
from tongsa.export import ctranslate2, huggingface, onnx


class Write(Protocol):
    """Fills a folder with a model, and tells what its readers need to know."""

    def __call__(self, folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]: ...


FORMATS: dict[str, Write] = {"ctranslate2": ctranslate2.write, "huggingface": huggingface.write, "onnx": onnx.write}


def export(run: Path, to: str, folder: Path | None = None, *, int8: bool = False) -> Path:
    """The folder in which the model of a run now stands in another format: `run`/`to` where none is named."""
    source = bundle.find(run)
    folder = folder or run / to
    _must_be_ours(folder)
    loaded = bundle.load(source)
    with files.new_folder(folder) as new:
        facts = FORMATS[to](new, loaded, int8=int8)
        (new / "source.spm").write_bytes(loaded.source.model)
        if loaded.config.task != "labels":  # those are told in the note
            (new / "target.spm").write_bytes(loaded.target.model)
        made = {"to": to, "weights": files.digest(source / "weights.safetensors")}
        (new / NOTE).write_text(json.dumps(made | facts, indent=1), "utf-8")
    return folder


def _must_be_ours(folder: Path) -> None:
    """What stands in the folder is thrown away, so it has to be an older export, or nothing."""
    files.settle(folder)
    if not folder.exists() or (folder / NOTE).is_file() or (folder.is_dir() and not any(folder.iterdir())):
        return
    raise InputError(f"{folder}: holds something else than an export; name another folder with -o")
