"""Members of a tar file: only listed regular files are copied, under names of our own, within limits."""

import lzma
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path

from tongsa import storage
from tongsa.errors import InputError

MAX_EXPANSION = 30
"""Text is compressed by a factor of 3 to 10; more than this is a bomb."""
MIN_LIMIT_BYTES = 1 << 20
MAX_MEMBERS = 100_000
_BLOCK_BYTES = 1 << 20


def expansion_limit(compressed_bytes: int) -> int:
    """Return the maximum size of a decompressed file."""
    return MAX_EXPANSION * compressed_bytes + MIN_LIMIT_BYTES


def extract_members(archive: Path, names: Collection[str], folder: Path) -> dict[str, Path]:
    """Copy members of a tar file to files `0-NAME`, `1-NAME` … in a folder; return the path of each."""
    left = expansion_limit(archive.stat().st_size)
    paths: dict[str, Path] = {}
    try:
        with tarfile.open(archive, "r|*") as tar:  # a stream: nothing is read twice, nothing is sought
            for count, member in enumerate(tar):
                left -= member.size
                if left < 0 or count >= MAX_MEMBERS:
                    raise InputError(f"{archive}: expands to too much data for its size. Nothing was kept.")
                name = member.name.removeprefix("./")
                if name not in names:
                    continue
                stream = tar.extractfile(member) if member.isreg() else None
                if stream is None or name in paths:
                    raise InputError(f"{archive}: {name} is a link or occurs twice. Nothing was kept.")
                paths[name] = folder / f"{len(paths)}-{Path(name).name}"
                with storage.explain_os_errors(paths[name]), paths[name].open("wb") as file:
                    while block := stream.read(_BLOCK_BYTES):
                        file.write(block)
                if len(paths) == len(names):
                    break
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise InputError(f"{archive}: damaged archive ({error}). Get it again.") from None
    if missing := sorted(set(names) - set(paths)):
        raise InputError(f"{archive}: without {missing[0]}. Get the archive from the address in the table.")
    return paths
