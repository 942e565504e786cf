"""Latency of /healthz while the server works on expensive requests: the event loop must not be blocked.

    python benchmarks/serve_probe.py RUN --texts FILE --json

Each kind of request is sent again and again for --seconds, and /healthz every 5 ms on another connection; a request is
cancelled after five seconds. The time from a probe to its response is measured, so it includes what this client and
other programs take of the machine; "idle" is the same without other requests.
"""

import argparse
import http.client
import json
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

from load_server import start_server
from machine import machine

INTERVAL = 0.005
TIMEOUT = 180.0
HEADERS = {"X-Request-Timeout": "5"}
"""What is translated is not measured here."""


class Body(NamedTuple):
    content: bytes
    path: str = "/v1/translate"
    content_type: str = "application/json"


def to_body(content: Any, path: str = "/v1/translate") -> Body:
    return Body(json.dumps(content).encode(), path)


def document_body(content: bytes, name: str) -> Body:
    part = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return Body(part + content + b"\r\n--x--\r\n", "/v1/documents", "multipart/form-data; boundary=x")


def expensive_bodies(text: str) -> Mapping[str, Body]:
    """Return bodies that take much work before they are translated or refused, by their description."""
    glossary = [{"source": f"term {i}", "target": f"Wort {i}"} for i in range(100)]
    lists = b'{"text": [' + b"[]," * 130_000 + b"[]]}"
    return {
        "10,000 lines with 100 terms": to_body({"text": "a\n" * 10_000, "glossary": glossary}),
        "130,000 lists": Body(lists),
        "50,000 nested lists": Body(b'{"text": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        "40,000 lists": Body(b'{"text": [' + b"[]," * 39_990 + b"[]]}"),
        "a key of 390 kB": Body(b'{"' + b"text" * 97_500 + b'": 1}'),
        "a model name of 390 kB": to_body({"text": "a", "model": "x" * 390_000}),
        "80 kB of combining marks": to_body({"text": "a" + "\u0315\u0316" * 20_000}, "/v1/attention"),
        "19,900 letters with 199 marks each 200": to_body({"text": ("a" + "\u0315\u0316" * 99) * 100}),
        "text of 10 MB, refused": document_body(
            (text + "\n").encode() * (10_000_000 // len(text.encode()) - 1000), "a.txt"
        ),
        "Markdown of 2 MB": document_body(b"- [x](y) `z`\n" * 150_000, "a.md"),
        "HTML of 2 MB": document_body(b"<p>1</p>\n" * 220_000, "a.html"),
        "subtitles of 2 MB": document_body(b"1\n00:00:00,000 --> 00:00:01,000\n1\n\n" * 54_000, "a.srt"),
        "16 translations with probabilities": to_body(
            {"text": text[:1000], "nbest": 16, "beam": 16, "token_probabilities": True}
        ),
        "200 texts, language detected": to_body(
            {"q": [text[:90]] * 200, "source": "auto", "target": "en"}, "/translate"
        ),
    }


def send(port: int, body: Body) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("POST", body.path, body.content, {"Content-Type": body.content_type, **HEADERS})
        response = connection.getresponse()
        response.read()
        return response.status
    except OSError:  # refused while the body is sent
        return 0
    finally:
        connection.close()


def probe(port: int, body: Body | None, seconds: float) -> dict[str, Any]:
    """Send a body again and again, and return the latencies of /healthz meanwhile."""
    statuses, end = list[int](), time.monotonic() + seconds

    def send_often() -> None:
        while body and time.monotonic() < end:
            statuses.append(send(port, body))

    sender = threading.Thread(target=send_often)
    sender.start()
    connection, latencies = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT), list[float]()
    while sender.is_alive() or time.monotonic() < end:
        start = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        latencies.append(1000 * (time.perf_counter() - start))
        time.sleep(INTERVAL)
    sender.join()
    connection.close()
    cuts = quantiles(latencies, n=100, method="inclusive")
    return {
        "requests": len(statuses),
        "statuses": sorted(set(statuses)),
        "probes": len(latencies),
        "p50_ms": round(cuts[49], 1),
        "p99_ms": round(cuts[98], 1),
        "max_ms": round(max(latencies), 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="file with one sentence per line")
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of each kind of request")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    text = max(options.texts.read_text("utf-8").splitlines(), key=len)
    with start_server(options.run) as server:
        results = {"idle": probe(server.port, None, options.seconds)}
        for name, body in expensive_bodies(text).items():
            results[name] = probe(server.port, body, options.seconds)
    if options.json:
        print(json.dumps({"machine": machine(), "run": options.run.name, "probes": results}))
        return 0
    print(f"{'/healthz beside':42}{'requests':>9}  {'statuses':12}{'p50 ms':>8}{'p99 ms':>8}{'max ms':>8}")
    for name, row in results.items():
        counts = f"{row['requests']:>9}  {row['statuses']!s:12}"
        print(f"{name:42}{counts}{row['p50_ms']:8.1f}{row['p99_ms']:8.1f}{row['max_ms']:8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
