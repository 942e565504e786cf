"""The web page: a table of packaged files, made at the start. A request chooses in it and never names a path."""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from tongsa.serving.refusal import Refusal

KINDS = {
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


class File(NamedTuple):
    content: bytes
    kind: str
    packed: bytes
    """The same, compressed: text travels in a quarter of its size."""
    tag: str
    """What the file is known by: a browser that has it need not take it again."""


def packaged(content: bytes, kind: str) -> File:
    return File(content, kind, gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:16]}"')


PLACEHOLDER = packaged(b"<!doctype html><title>tongsa</title><p>tongsa serves here.</p>\n", KINDS[".html"])


@cache
def table() -> Mapping[str, File]:
    """Name → file, of what is packaged for the page, and for the pictures in it."""
    found = {INDEX: PLACEHOLDER}
    for folder in (files("tongsa.view"), files("tongsa.serving") / "page"):
        for entry in folder.iterdir() if folder.is_dir() else ():
            kind = KINDS.get("." + entry.name.rpartition(".")[2])
            if kind and entry.is_file():
                found[entry.name] = packaged(entry.read_bytes(), kind)
    return found


async def index(request: Request) -> Response:
    return _shown(request, INDEX)


async def static(request: Request) -> Response:
    return _shown(request, request.path_params["name"])


def _shown(request: Request, name: str) -> Response:
    file = table().get(name)
    if file is None:
        raise Refusal(404, "not_found", "no such file; the page begins at /")
    headers = {"Content-Type": file.kind, "Cache-Control": "no-cache", "ETag": file.tag, "Vary": "Accept-Encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, headers=headers)
