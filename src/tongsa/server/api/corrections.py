"""Corrections by users: pairs for the next training, in a folder that the owner of the server chose."""

import asyncio
import threading
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from tongsa.server.api.schemas import CorrectionRequest
from tongsa.server.api.v1 import read_request
from tongsa.server.errors import APIError, failed_error, too_long_error
from tongsa.server.http import JSONResponse, get_context

MAX_FILE_BYTES = 10_000_000
"""Size of the file of a model; above it, corrections are refused."""
_lock = threading.Lock()


async def corrections(request: Request) -> Response:
    query, context = await read_request(request, CorrectionRequest), get_context(request)
    folder = context.config.corrections
    if not folder:
        raise APIError(404, "not_found", "This server collects no corrections. Its owner can set `corrections`.")
    model = context.models.select(query.model).name
    await asyncio.to_thread(append_pair, Path(folder) / f"{quote(model, safe='')}.tsv", query.source, query.target)
    return JSONResponse({"status": "ok"})


def append_pair(path: Path, source: str, target: str) -> None:
    """Append a line `source<TAB>target`, which `tongsa train` reads."""
    line = "\t".join(" ".join(text.split()) for text in (source, target)) + "\n"
    with _lock:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", newline="\n") as file:
                if file.tell() > MAX_FILE_BYTES:
                    raise too_long_error("The file of corrections is full. Tell the owner of this server.")
                file.write(line)
        except OSError:
            raise failed_error("The correction could not be stored. Tell the owner of this server.") from None
