"""Light HTTP load client: one process, one thread, one selector; and the same load by wrk where it is installed.

Each client is a connection with one request at a time. A client that gets 503 waits RETRY_SECONDS and sends its next
request, whatever Retry-After says. The Python client compares every response with the expected bytes; wrk does not,
but uses a tenth of the CPU time. Both report the CPU time that they used.
"""

import heapq
import json
import resource
import selectors
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import Any

RETRY_SECONDS = 0.02
"""Pause of a client after 503: impatient on purpose."""
RECONNECT_SECONDS = 0.1
RESPONSE_TIMEOUT = 150.0
"""Seconds; longer than the server's own timeout. After the end of a load, no client waits longer for its response."""
PERCENTILES = (50, 95, 99)
WRK_SCRIPT = Path(__file__).with_name("serve_load.lua")


def make_request(text: str) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = f"POST /v1/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def response_prefix(translation: str) -> bytes:
    """Return the bytes of a response around its first translation; scores may differ in the last digits."""
    return f'"translations":[{{"text":{json.dumps(translation, ensure_ascii=False)},"sentences":['.encode()


@dataclass
class LoadResult:
    """Responses of one load."""

    clients: int
    seconds: float = 0.0
    client_cpu_seconds: float = 0.0
    sent: int = 0
    wrong: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    """Seconds from request to response 200."""

    def report(self) -> dict[str, Any]:
        cuts = quantiles(self.latencies, n=100) if len(self.latencies) > 1 else [0.0] * 99
        return {
            "clients": self.clients,
            "responses_per_second": round(self.statuses[200] / self.seconds, 1),
            **{f"p{percentile}_ms": round(1000 * cuts[percentile - 1], 1) for percentile in PERCENTILES},
            "sent": self.sent,
            "statuses": dict(self.statuses),
            "wrong": self.wrong,
            "seconds": round(self.seconds, 2),
            "client_cpu_seconds": round(self.client_cpu_seconds, 2),
        }


class Connection:
    """One HTTP/1.1 connection. Responses need a Content-Length."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=RESPONSE_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.text_index = 0
        self.sent_at = 0.0
        self.is_waiting = False
        """A request was sent and has no response yet."""

    def send(self, request: bytes, text_index: int) -> None:
        self.received, self.text_index, self.sent_at, self.is_waiting = b"", text_index, time.monotonic(), True
        self.socket.sendall(request)

    def receive(self) -> tuple[int, bytes] | None:
        """Return status and body, or None if a part is missing. Raise OSError if the connection is closed."""
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionResetError
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return None
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return (int(head[9:12]), body) if len(body) >= int(length) else None


class LoadClient:
    """Clients that send texts in turn and compare the responses."""

    def __init__(self, port: int, texts: Sequence[str], expected: Sequence[str] = ()) -> None:
        self.port, self.texts = port, list(texts)
        self.requests = [make_request(text) for text in texts]
        self.prefixes = [response_prefix(translation) for translation in expected]

    def translate_all(self) -> list[str]:
        """Return the translation of each text, requested one after the other."""
        connection, translations = Connection(self.port), []
        for i, request in enumerate(self.requests):
            connection.send(request, i)
            while (response := connection.receive()) is None:
                pass
            status, body = response
            translations.append(json.loads(body)["translations"][0]["text"] if status == 200 else "")
        connection.socket.close()
        return translations

    def run(self, clients: int, seconds: float) -> LoadResult:
        """Send requests for some seconds, wait for the last responses, and count."""
        return _LoadRun(self, clients).run(seconds)


class _LoadRun:
    def __init__(self, client: LoadClient, clients: int) -> None:
        self.client, self.result = client, LoadResult(clients)
        self.selector = selectors.DefaultSelector()
        self.pauses: list[tuple[float, int, Connection | None]] = []
        """Heap of (time, number, connection that sends then); without a connection, a new one is opened."""
        self.numbers = count()
        self.next_text = 0
        self.waiting = 0
        """Connections with a request that has no response yet."""

    def run(self, seconds: float) -> LoadResult:
        start, cpu_start = time.monotonic(), time.process_time()
        self.end = start + seconds
        try:
            for _ in range(self.result.clients):
                self._connect()
            while self.waiting or self.pauses:
                self._step()
        finally:
            for key in list(self.selector.get_map().values()):
                key.data.socket.close()
            self.selector.close()
        self.result.seconds = time.monotonic() - start
        self.result.client_cpu_seconds = time.process_time() - cpu_start
        return self.result

    def _step(self) -> None:
        now = time.monotonic()
        while self.pauses and self.pauses[0][0] <= now:
            connection = heapq.heappop(self.pauses)[2]
            if connection is None:
                self._connect()
            elif connection.socket.fileno() >= 0:  # the server may have closed it meanwhile
                self._send(connection)
        if not self.waiting and not self.pauses:
            return
        if now > self.end + RESPONSE_TIMEOUT:
            raise TimeoutError(f"{self.waiting} requests without a response after {RESPONSE_TIMEOUT:g} seconds")
        for key, _ in self.selector.select(max(0.0, self.pauses[0][0] - now) if self.pauses else 1.0):
            self._receive(key.data)

    def _pause(self, seconds: float, connection: Connection | None) -> None:
        if time.monotonic() + seconds < self.end:
            heapq.heappush(self.pauses, (time.monotonic() + seconds, next(self.numbers), connection))

    def _connect(self) -> None:
        try:
            connection = Connection(self.client.port)
        except OSError:
            self._pause(RECONNECT_SECONDS, None)
            return
        self.selector.register(connection.socket, selectors.EVENT_READ, connection)
        self._send(connection)

    def _send(self, connection: Connection) -> None:
        if time.monotonic() >= self.end:
            return
        index, self.next_text = self.next_text, (self.next_text + 1) % len(self.client.requests)
        self.result.sent += 1
        self.waiting += 1
        try:
            connection.send(self.client.requests[index], index)
        except OSError:
            self._reconnect(connection)

    def _reconnect(self, connection: Connection) -> None:
        """Replace a closed connection; a request that waits on it counts as sent and has no status."""
        self.waiting -= connection.is_waiting
        self.selector.unregister(connection.socket)
        connection.socket.close()
        self._pause(RECONNECT_SECONDS, None)

    def _receive(self, connection: Connection) -> None:
        try:
            response = connection.receive()
        except (OSError, ValueError):
            self._reconnect(connection)
            return
        if response is None:
            return
        self.waiting -= 1
        connection.is_waiting = False
        status, body = response
        self.result.statuses[status] += 1
        if status == 200:
            self.result.latencies.append(time.monotonic() - connection.sent_at)
            self.result.wrong += self.client.prefixes[connection.text_index] not in body
            self._send(connection)
        else:
            self._pause(RETRY_SECONDS, connection)


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


def run_wrk(port: int, texts: Sequence[str], clients: int, seconds: float) -> LoadResult:
    """Put the same load on a server with wrk; its responses are counted and not compared."""
    with tempfile.TemporaryDirectory() as folder:
        bodies = Path(folder, "bodies")
        bodies.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
        command = ["wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s", "--timeout", f"{RESPONSE_TIMEOUT:g}s"]
        command += ["-s", str(WRK_SCRIPT), f"http://127.0.0.1:{port}/v1/translate", "--", str(bodies)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = json.loads(output.splitlines()[-1])
    statuses = Counter({int(status): count for status, count in counts["statuses"].items()})
    result = LoadResult(clients, counts["seconds"], sent=sum(statuses.values()) + counts["errors"], statuses=statuses)
    result.client_cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result
