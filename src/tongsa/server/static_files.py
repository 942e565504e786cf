"""The web page: a table of packaged files, made at the start. A request chooses in it and never names a path."""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from tongsa.server.errors import APIError

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
}
INDEX = "index.html"


class StaticFile(NamedTuple):
    content: bytes
    content_type: str
    gzipped: bytes
    """The same, compressed: text travels in a quarter of its size."""
    etag: str
    """What the file is known by: a browser that has it need not take it again."""


def create_file(content: bytes, content_type: str) -> StaticFile:
    return StaticFile(
        content, content_type, gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    )


PLACEHOLDER = create_file(b"<!doctype html><title>tongsa</title><p>tongsa serves here.</p>\n", CONTENT_TYPES[".html"])


@cache
def load_files() -> Mapping[str, StaticFile]:
    """Name → file, of what is packaged for the page, and for the pictures in it."""
    found = {INDEX: PLACEHOLDER}
    for folder in (files("tongsa.visualize") / "assets", files("tongsa.server") / "static"):
        for entry in folder.iterdir() if folder.is_dir() else ():
            kind = CONTENT_TYPES.get("." + entry.name.rpartition(".")[2])
            if kind and entry.is_file():
                found[entry.name] = create_file(entry.read_bytes(), kind)
    return found


async def index(request: Request) -> Response:
    return _file_response(request, INDEX)


async def static(request: Request) -> Response:
    return _file_response(request, request.path_params["name"])


def _file_response(request: Request, name: str) -> Response:
    file = load_files().get(name)
    if file is None:
        raise APIError(404, "not_found", "no such file; the page begins at /")
    headers = {
        "Content-Type": file.content_type,
        "Cache-Control": "no-cache",
        "ETag": file.etag,
        "Vary": "Accept-Encoding",
    }
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.gzipped, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, headers=headers)
