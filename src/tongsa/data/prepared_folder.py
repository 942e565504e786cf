"""Folders of prepared data: filled once under a lock, resumed after a crash, checked by checksum, shared by runs.

A folder is named after a hash of all that determines its content. While it is filled its name ends in `.part`; the
manifest with size and checksum of each file is written last, and the folder is renamed. So a folder without `.part` is
complete, and a damaged one is found by its manifest.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from math import inf
from pathlib import Path

from tongsa import storage, system
from tongsa.bounded_files import UnreadableFileError, is_file_name, read_json
from tongsa.data.array_files import PROGRESS_FILE, ArrayFiles
from tongsa.errors import InputError

FORMAT_VERSION = 2
"""Part of each hash: a change of the format makes new folders."""
MANIFEST_FILE = "manifest.json"
PATIENCE_SECONDS = 1.0
"""After this time a process that waits for another one says so."""


def content_key(*values: object) -> str:
    """Return the hash of values that JSON can represent."""
    text = json.dumps([FORMAT_VERSION, *values], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def prepare_folder(folder: Path, fill: Callable[[ArrayFiles], None], log: Callable[[str], None]) -> ArrayFiles:
    """Return the arrays of a folder. If it is missing or damaged, `fill` appends them, or completes an earlier try."""
    with storage.explain_os_errors(folder):
        if not folder.is_dir() or find_damage(folder):
            try:
                with storage.lock_replacement(folder, PATIENCE_SECONDS):
                    _fill_missing(folder, fill, log)
            except storage.LockTimeoutError:
                log(f"{folder}: another process prepares these data; waiting for it")
                with storage.lock_replacement(folder, inf):
                    _fill_missing(folder, fill, log)
    return ArrayFiles(folder)


def _fill_missing(folder: Path, fill: Callable[[ArrayFiles], None], log: Callable[[str], None]) -> None:
    if folder.is_dir():
        damage = find_damage(folder)
        if not damage:
            return  # another process has filled it meanwhile
        log(f"{folder}: {damage}; the data are prepared again")
        shutil.rmtree(folder)
    partial = folder.with_name(f"{folder.name}.part")
    partial.mkdir(parents=True, exist_ok=True)
    (partial / MANIFEST_FILE).unlink(missing_ok=True)
    arrays = ArrayFiles(partial)
    try:
        fill(arrays)
    except InputError:  # of the data: another try would not go on after it
        arrays.close()
        shutil.rmtree(partial)
        raise
    finally:
        arrays.close()
    (partial / PROGRESS_FILE).unlink(missing_ok=True)
    files = {path.name: _describe_file(path) for path in sorted(partial.iterdir())}
    storage.write_text(partial / MANIFEST_FILE, json.dumps({"files": files}, indent=1))
    for path in partial.iterdir():
        system.fsync_path(path)
    partial.rename(folder)
    system.fsync_path(folder.parent)


def _describe_file(path: Path) -> dict[str, object]:
    return {"size": path.stat().st_size, "sha256": storage.file_sha256(path)}


def find_damage(folder: Path) -> str:
    """Return what is wrong with the files of a folder; "" if they are as its manifest says."""
    try:
        files = {
            name: (entry["size"], entry["sha256"]) for name, entry in read_json(folder / MANIFEST_FILE)["files"].items()
        }
    except (UnreadableFileError, ValueError, KeyError, TypeError, AttributeError):
        return f"{MANIFEST_FILE} is missing or damaged"
    for name, (size, sha256) in files.items():
        if not is_file_name(name):
            return f"{MANIFEST_FILE} names {name[:100]!r}, which is not a file of this folder"
        path = folder / name
        try:
            if not path.is_file() or path.stat().st_size != size:
                return f"{name} is missing or has another size"
            if storage.folder_file_sha256(path) != sha256:
                return f"{name} is damaged"
        except UnreadableFileError as error:
            return f"{name}: {error.reason}"
    return ""
