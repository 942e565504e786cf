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
from tongsa.visualize.js_modules import bundle_script

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
INDEX, MAIN_MODULE, BUNDLE = "index.html", "main.js", "translator.js"
ONE_YEAR = "public, max-age=31536000, immutable"


class StaticFile(NamedTuple):
    content: bytes
    content_type: str
    gzipped: bytes
    etag: str
    """Hash of the content: a browser that has this version downloads nothing."""


class StaticFiles(NamedTuple):
    table: Mapping[str, StaticFile]
    """Name → file, of the page (server/static) and its views (visualize/assets)."""
    version: str
    """Hash of all files. Addresses with it never change their content, so browsers keep them without asking."""


@cache
def load_files() -> StaticFiles:
    contents = {
        entry.name: entry.read_bytes()
        for folder in (files("tongsa.visualize") / "assets", files("tongsa.server") / "static")
        for entry in folder.iterdir()
        if _content_type(entry.name) and entry.is_file()
    }
    names_and_hashes = sorted((name, hashlib.sha256(content).hexdigest()) for name, content in contents.items())
    version = hashlib.sha256(repr(names_and_hashes).encode()).hexdigest()[:12]
    contents[BUNDLE] = _bundle(contents)
    contents[INDEX] = contents[INDEX].replace(b'"/static/', f'"/static/{version}/'.encode())
    table = {name: _static_file(name, content) for name, content in contents.items()}
    return StaticFiles(table, version)


def _static_file(name: str, content: bytes) -> StaticFile:
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    return StaticFile(content, _content_type(name), gzip.compress(content, mtime=0), etag)


def _content_type(name: str) -> str:
    return CONTENT_TYPES.get("." + name.rpartition(".")[2], "")


def _bundle(contents: Mapping[str, bytes]) -> bytes:
    """Return the modules of the page as one script: forty files would take forty requests."""
    return bundle_script(MAIN_MODULE, read=lambda name: contents[name].decode("utf-8")).encode("utf-8")


async def index(request: Request) -> Response:
    return _file_response(request, INDEX)


async def static(request: Request) -> Response:
    is_current = request.path_params.get("version") == load_files().version
    return _file_response(request, request.path_params["name"], cache_control=ONE_YEAR if is_current else "no-cache")


def _file_response(request: Request, name: str, cache_control: str = "no-cache") -> Response:
    file = load_files().table.get(name)
    if file is None:
        raise APIError(404, "not_found", "No such file. The page is at /.")
    headers = {
        "Content-Type": file.content_type,
        "Cache-Control": cache_control,
        "ETag": file.etag,
        "Vary": "Accept-Encoding",
    }
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.gzipped, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, headers=headers)
