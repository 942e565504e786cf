"""Download of one file: resumed with a range request, limited in size, and complete only after its checksum."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from tongsa import storage
from tongsa.errors import InputError
from tongsa.program import NAME

BLOCK_BYTES = 1 << 18
MAX_DOWNLOAD_BYTES = 16 << 30
"""Limit of a download whose size is not known."""
MAX_REDIRECTS = 5
TIMEOUT_SECONDS = 60.0
ATTEMPTS = 5
"""Connections to one address that may break without a new byte before the command gives up."""
LOOPBACK = "127.0.0.1"

Progress = Callable[[int, str], None]


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    max_redirections = MAX_REDIRECTS

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme != urlsplit(req.full_url).scheme:
            raise InputError(f"{req.full_url}: redirected to {newurl}, another protocol. Nothing was downloaded.")
        check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def check_address(address: str) -> None:
    """Raise InputError unless an address is HTTPS, or HTTP of this machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname == LOOPBACK):
        return
    raise InputError(f"{address}: not an https address. Nothing was downloaded.")


def download(
    address: str, path: Path, sha256: str = "", max_bytes: int = MAX_DOWNLOAD_BYTES, progress: Progress | None = None
) -> None:
    """Write the file of an address to `path`. Received bytes are in `*.part` until all are there and are right."""
    check_address(address)
    partial = path.with_name(path.name + ".part")
    failures = 0
    while True:
        size = partial.stat().st_size if partial.exists() else 0
        try:
            _receive(address, partial, max_bytes, progress)
            break
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code == 416 and size:  # a longer file than theirs
                partial.unlink()
            elif isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise InputError(f"{address}: HTTP {error.code} {error.reason}. Take the files with --from.") from None
            grown = partial.exists() and partial.stat().st_size > size
            failures = 0 if grown else failures + 1
            if failures >= ATTEMPTS:
                raise InputError(
                    f"{address}: {_reason(error)}. Check the connection and repeat the command: it goes on from "
                    f"byte {size:,}. Or take the files with --from."
                ) from None
            time.sleep(0.2 * failures)
    if sha256 and storage.file_sha256(partial) != sha256:
        partial.unlink()
        raise InputError(
            f"{address}: its checksum is not {sha256[:16]}…; it was removed. Repeat the command, or use --from."
        )
    storage.replace_file(partial, path)


def _receive(address: str, partial: Path, max_bytes: int, progress: Progress | None) -> None:
    """Append the missing bytes; raise OSError if the connection ends early."""
    start = partial.stat().st_size if partial.exists() else 0
    headers = {"User-Agent": NAME} | ({"Range": f"bytes={start}-"} if start else {})
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - `check_address`
    opener = urllib.request.build_opener(_SafeRedirects)
    with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
        is_rest = response.status == 206 and str(response.headers.get("Content-Range", "")).startswith(
            f"bytes {start}-"
        )
        start = start if is_rest else 0
        total = start + int(response.headers["Content-Length"]) if response.headers.get("Content-Length") else None
        if total is not None and total > max_bytes:
            raise InputError(f"{address}: {total:,} bytes, more than {max_bytes:,}. Nothing was downloaded.")
        if not start:
            partial.unlink(missing_ok=True)
        with storage.explain_os_errors(partial), partial.open("ab") as file:
            _copy(response, file, address, max_bytes - start, progress)
            size = file.tell()
    if total is not None and size < total:
        raise ConnectionError(f"the connection ended after {size:,} of {total:,} bytes")


def _copy(response: Any, file: IO[bytes], address: str, limit: int, progress: Progress | None) -> None:
    while block := response.read1(BLOCK_BYTES):
        limit -= len(block)
        if limit < 0:
            raise InputError(f"{address}: more bytes than expected. The download was stopped.")
        file.write(block)
        if progress:
            progress(file.tell(), address)


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason) or type(reason).__name__
