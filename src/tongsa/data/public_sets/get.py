"""Get a public data set: download or take its files, check them, write the folder at once.

Downloads are kept in `.NAME.download` beside the folder until the set is complete, so an interrupted command goes on.
The folder appears whole, with the checksums of its files in `SHA256SUMS`.
"""

import gzip
import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tongsa import storage
from tongsa.data.compression import open_source
from tongsa.data.public_sets.archive import expansion_limit, extract_members
from tongsa.data.public_sets.convert import CONVERTERS
from tongsa.data.public_sets.download import MAX_DOWNLOAD_BYTES, Progress, download
from tongsa.data.public_sets.table import PublicSet, SetFile, address_of, download_name, member_of
from tongsa.errors import InputError
from tongsa.program import format_command

CHECKSUM_FILE = "SHA256SUMS"
MAX_LINE_BYTES = 1 << 22
_CHECKSUM_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def get_set(
    public_set: PublicSet, folder: Path, source_folder: Path | None = None, progress: Progress | None = None
) -> bool:
    """Fill a folder with a set, from a source folder or the network; return False if it was there already."""
    with storage.lock_replacement(folder):
        storage.recover_folder(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            check_folder(public_set, folder)
            return False
        if source_folder is not None and not source_folder.is_dir():
            raise InputError(f"{source_folder}: no such folder. Give the folder with the files of {public_set.name}.")
        downloads = folder.with_name(f".{folder.name}.download")
        with storage.explain_os_errors(folder):
            downloads.mkdir(parents=True, exist_ok=True)
        with storage.replace_folder(folder) as new:
            inputs = _Inputs(public_set, downloads, source_folder, progress)
            checksums = [f"{_write_file(file, new / file.name, inputs)}  {file.name}\n" for file in public_set.files]
            storage.write_text(new / CHECKSUM_FILE, "".join(checksums))
        storage.remove(downloads)
        return True


def check_folder(public_set: PublicSet, folder: Path) -> None:
    """Raise InputError unless a folder has the files of a set as they were written."""
    remedy = "Remove the folder to get the set again, or choose another with -o."
    recorded = folder / CHECKSUM_FILE
    if not recorded.is_file():
        raise InputError(f"{folder}: exists, and was not written by {format_command('data get')}. {remedy}")
    lines = recorded.read_text(encoding="utf-8", errors="replace").splitlines()
    checksums = {match[2]: match[1] for line in lines if (match := _CHECKSUM_LINE.fullmatch(line))}
    for file in public_set.files:
        path = folder / file.name
        if not path.is_file() or storage.file_sha256(path) != checksums.get(file.name):
            raise InputError(f"{path}: missing or changed. {remedy}")


class _Inputs:
    """The parts of a set as local files, each downloaded or found once."""

    def __init__(
        self, public_set: PublicSet, downloads: Path, source_folder: Path | None, progress: Progress | None
    ) -> None:
        self.set, self.downloads, self.source_folder, self.progress = public_set, downloads, source_folder, progress
        self._members: dict[str, dict[str, Path]] = {}

    def finished_file(self, file: SetFile) -> Path | None:
        """Return the file of the source folder that already is what the recipes read, compressed or not."""
        if self.source_folder is None or not file.sha256:
            return None
        plain = file.name.removesuffix(".gz")
        names = [file.name, plain, plain + ".gz"]
        paths = [self.source_folder / name for name in names]
        return next((path for path in paths if path.is_file() and _text_matches(path, file.sha256)), None)

    def part(self, part: str) -> Path:
        address, member = address_of(part), member_of(part)
        path = self._input_file(address)
        if not member:
            return path
        if address not in self._members:
            parts = [p for file in self.set.files for p in file.parts if address_of(p) == address]
            members = self.downloads / f"members-{len(self._members)}"
            members.mkdir(exist_ok=True)
            self._members[address] = extract_members(path, {member_of(p) for p in parts}, members)
        return self._members[address][member]

    def _input_file(self, address: str) -> Path:
        name, sha256 = download_name(address), self.set.archives.get(address, "")
        if self.source_folder is not None:
            path = self.source_folder / name
            if not path.is_file():
                raise InputError(f"{path}: no such file. It is {address}.")
            if sha256 and storage.file_sha256(path) != sha256:
                raise InputError(f"{path}: not the file of {self.set.home} (its checksum is wrong). Copy it again.")
            return path
        short_hash = hashlib.sha256(address.encode()).hexdigest()[:8]  # two addresses may end in the same name
        path = self.downloads / f"{short_hash}-{name}"
        if not path.exists():
            limit = 2 * self.set.size + (1 << 20) if self.set.size else MAX_DOWNLOAD_BYTES
            download(address, path, sha256, limit, self.progress)
        return path


def _write_file(file: SetFile, path: Path, inputs: _Inputs) -> str:
    """Write a file of the set; return the checksum of its bytes."""
    finished = inputs.finished_file(file)
    paths = [finished] if finished else [inputs.part(part) for part in file.parts]
    lines = _read_lines(paths) if finished else CONVERTERS[file.convert](_read_lines(paths))
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("wb"))
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else None
        stream = stack.enter_context(io.BufferedWriter(packed, 1 << 18)) if packed else raw
        for line in lines:
            digest.update(line)
            stream.write(line)
    if file.sha256 and digest.hexdigest() != file.sha256:
        for input_path in paths:
            if inputs.source_folder is None:
                storage.remove(input_path)
        raise InputError(
            f"{paths[0]}: its text is not that of {file.name} in {inputs.set.name} (the checksum differs). "
            "Nothing was written. Get the file again."
        )
    return storage.file_sha256(path)


def _read_lines(paths: list[Path]) -> Iterator[bytes]:
    """Yield the lines of files, decompressed within limits. A file without a last line end gets none."""
    for path in paths:
        left = expansion_limit(path.stat().st_size)
        with open_source(path) as stream:
            while line := stream.readline(MAX_LINE_BYTES):
                left -= len(line)
                if left < 0:
                    raise InputError(f"{path}: expands to too much text for its size. Nothing was written.")
                yield line


def _text_matches(path: Path, sha256: str) -> bool:
    digest = hashlib.sha256()
    for line in _read_lines([path]):
        digest.update(line)
    return digest.hexdigest() == sha256
