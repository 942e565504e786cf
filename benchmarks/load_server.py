"""Server processes of the load test: start, wait for the models, CPU time, memory."""

import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

START_SECONDS = 120
"""A server that has no models after these seconds is a fault of the server."""
STOP_SECONDS = 60
"""A server that does not stop within these seconds is a fault of the server."""


class Server:
    """A server process with its models loaded."""

    def __init__(self, port: int, process: int) -> None:
        self.port, self.process = port, process

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100  # in ticks of 10 ms

    @property
    def memory(self) -> float:
        """The resident memory in MiB."""
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process}/status").read_text())
        return int(match[1]) / 1024 if match else 0.0


@contextlib.contextmanager
def start_server(run: Path, *options: str) -> Iterator[Server]:
    """Start a server and wait for its models."""
    command = [sys.executable, "-m", "tongsa.cli", "serve", str(run), "--port", "0", *options]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    drain: subprocess.Popen[bytes] | None = None
    try:
        port = 0
        for line in child.stderr or ():
            if not line.startswith("{"):
                raise SystemExit(line)
            event = json.loads(line)
            port = int(event["address"].rpartition(":")[2]) if event["event"] == "listening" else port
            if event["event"] == "model loaded":
                break
        drain = subprocess.Popen(["cat"], stdin=child.stderr, stdout=subprocess.DEVNULL)  # noqa: S607 - a full pipe would block the server
        deadline = time.monotonic() + START_SECONDS
        while not is_ready(port):
            if child.poll() is not None:
                raise SystemExit(f"{run}: the server exited with {child.returncode} before it was ready")
            if time.monotonic() > deadline:
                raise SystemExit(f"{run}: the server was not ready after {START_SECONDS} seconds")
            time.sleep(0.1)
        yield Server(port, child.pid)
    finally:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
        finally:
            if drain is not None:  # last: a server that still writes its log would block on a full pipe
                drain.terminate()
                drain.wait()


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10):
            return True
    except OSError:
        return False
