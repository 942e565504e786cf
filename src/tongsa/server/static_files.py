"""Files of the web page, read once from the package. A request selects an entry of this table, never a path on disk."""

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
    etag: str
    """Hash of the content: a browser that has this version downloads nothing."""


@cache
def load_files() -> Mapping[str, StaticFile]:
    """Return name → file, for the page (server/static) and its views (visualize/assets)."""
    table = {}
    for folder in (files("tongsa.visualize") / "assets", files("tongsa.server") / "static"):
        for entry in folder.iterdir():
            content_type = CONTENT_TYPES.get("." + entry.name.rpartition(".")[2])
            if content_type and entry.is_file():
                content = entry.read_bytes()
                etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
                table[entry.name] = StaticFile(content, content_type, gzip.compress(content, mtime=0), etag)
    return table


async def index(request: Request) -> Response:
    return _file_response(request, INDEX)


async def static(request: Request) -> Response:
    return _file_response(request, request.path_params["name"])


def _file_response(request: Request, name: str) -> Response:
    file = load_files().get(name)
    if file is None:
        raise APIError(404, "not_found", "No such file. The page is at /.")
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
