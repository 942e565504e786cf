"""Worker processes of this program, and messages to and from them.

A message is a line of JSON with the sizes of its parts, then the parts. Not `multiprocessing`: it would import the
script of a user again, or fork a process with threads.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

Worker = subprocess.Popen[bytes]
WORKER_CODE = """\
import sys
sys.path[:] = sys.argv[1:]
from {module} import {function}
{function}()
"""
"""Program of a worker. It imports from where this process does, not from the current folder."""


def start_worker(module: str, function: str, *, quiet: bool = False) -> Worker:
    """Start a process that calls a function, which reads messages from standard input and answers on standard output.

    A quiet one writes no errors: a traceback may quote the text of a user.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-c", WORKER_CODE.format(module=module, function=function), *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        start_new_session=True,  # Ctrl-C stops this process, which stops the workers
    )


def write_message(stream: IO[bytes], content: object, parts: Sequence[bytes] = ()) -> None:
    body = json.dumps(content).encode()
    stream.write(json.dumps([len(body), *map(len, parts)]).encode() + b"\n")
    for part in (body, *parts):
        stream.write(part)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[Any, list[bytes]] | None:
    """Return the next message; None at the end of the stream, also in the middle of a message."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    sizes = json.loads(line)
    body, *parts = contents = [stream.read(size) for size in sizes]
    return (json.loads(body), parts) if [*map(len, contents)] == sizes else None
