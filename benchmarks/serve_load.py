"""Load test of the server: throughput with and without batching, latency, and recovery from an overload.

    python benchmarks/serve_load.py runs/mine --texts input.txt --seconds 20 --minutes 10 --record

Clients are coroutines on this machine, each with one connection and one request at a time. Each result is compared
with the server's result for the same text without load. During the overload (a short queue, many more clients than it
holds) the only statuses allowed are 200, 429 and 503. Memory must stay flat: its mean in the last quarter of the
overload may be at most 10 % above that of the second quarter.
--record writes the figures of a healthy server to benchmarks/results/serving.json; those of the overload if it took
ten minutes.
"""

import argparse
import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from record import add_options, record, training_seed
from rows import serve_load_rows

CLIENT_COUNTS = (1, 8, 64)
OVERLOAD_CLIENTS = 256
OVERLOAD_QUEUE = 64
OVERLOAD_SETTINGS = ["--set", f"max_queued_sentences={OVERLOAD_QUEUE}"]
UNBATCHED_SETTINGS = ["--set", "batch_tokens=1", "--set", "batch_wait_ms=0"]
ALLOWED_STATUSES = {200, 429, 503}
PERCENTILES = (50, 95, 99)
MEMORY_INTERVAL = 5.0
"""Seconds between two measurements of the memory; an eighth of the overload if that is less."""
MAX_MEMORY_GROWTH = 0.1
RESPONSE_TIMEOUT = 150.0
"""Seconds; longer than the server's own timeout."""


class Client:
    """One HTTP/1.1 connection, written by hand so that no client library is measured."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> "Client":
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    async def translate(self, text: str) -> tuple[int, str]:
        """Return status and translation. Raise OSError, EOFError or ValueError without a readable response."""
        async with asyncio.timeout(RESPONSE_TIMEOUT):
            body = json.dumps({"text": text}).encode()
            head = f"POST /v1/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            self.writer.write(head.encode() + body)
            await self.writer.drain()
            status = int((await self.reader.readuntil()).split()[1])
            length = 0
            while (line := await self.reader.readline()).strip():
                name, _, value = line.decode("latin-1").partition(":")
                length = int(value) if name.lower() == "content-length" else length
            content = json.loads(await self.reader.readexactly(length))
            return status, content["translations"][0]["text"] if status == 200 else ""


@contextlib.contextmanager
def start_server(run: Path, *options: str) -> Iterator[tuple[int, int]]:
    """Start a server, wait for its models, yield port and process id."""
    command = [sys.executable, "-m", "tongsa.cli", "serve", str(run), "--port", "0", *options]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
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
        while not is_ready(port):
            time.sleep(0.1)
        yield port, child.pid
        drain.kill()
    finally:
        child.terminate()
        child.wait()


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10):
            return True
    except OSError:
        return False


async def translate_without_load(port: int, texts: list[str]) -> dict[str, str]:
    async with Client(port) as client:
        return {text: (await client.translate(text))[1] for text in texts}


async def run_clients(
    port: int, texts: list[str], expected: dict[str, str], count: int, seconds: float
) -> dict[str, Any]:
    """Run `count` clients for some seconds; return rates, latencies and statuses."""
    statuses, latencies, wrong, sent = Counter[int](), list[float](), 0, 0
    end = time.monotonic() + seconds

    async def run_connection(number: int) -> None:
        nonlocal wrong, sent
        i = number
        async with Client(port) as client:
            while time.monotonic() < end:
                text = texts[i % len(texts)]
                i += count
                start = time.monotonic()
                sent += 1
                status, translation = await client.translate(text)
                statuses[status] += 1
                if status == 200:
                    latencies.append(time.monotonic() - start)
                    wrong += translation != expected[text]
                else:
                    await asyncio.sleep(0.02)

    async def run_client(number: int) -> None:
        while time.monotonic() < end:
            try:
                await run_connection(number)
            except (OSError, EOFError, ValueError):  # counted as sent, without a status; connect again
                await asyncio.sleep(0.1)

    start = time.monotonic()
    await asyncio.gather(*map(run_client, range(count)))
    elapsed = time.monotonic() - start
    cuts = quantiles(latencies, n=100) if len(latencies) > 1 else [0.0] * 99
    return {
        "clients": count,
        "responses_per_second": round(statuses[200] / elapsed, 1),
        **{f"p{percentile}_ms": round(1000 * cuts[percentile - 1], 1) for percentile in PERCENTILES},
        "sent": sent,
        "statuses": dict(statuses),
        "wrong": wrong,
    }


def resident_memory(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(match[1]) / 1024 if match else 0.0


async def run_overload(
    port: int, process: int, texts: list[str], expected: dict[str, str], minutes: float
) -> dict[str, Any]:
    """Run too many clients in rounds; measure the memory after each round."""
    statuses, wrong, sent, memory = Counter[int](), 0, 0, list[float]()
    end, interval = time.monotonic() + 60 * minutes, min(MEMORY_INTERVAL, 60 * minutes / 8)
    while time.monotonic() < end or len(memory) < 4:  # at least one measurement in each quarter
        seconds = min(interval, max(0.1, end - time.monotonic()))
        result = await run_clients(port, texts, expected, OVERLOAD_CLIENTS, seconds)
        statuses.update(result["statuses"])
        wrong += result["wrong"]
        sent += result["sent"]
        memory.append(resident_memory(process))
    after_warmup = memory[len(memory) // 4]
    return {
        "minutes": minutes,
        "clients": OVERLOAD_CLIENTS,
        "queue": OVERLOAD_QUEUE,
        "sent": sent,
        "statuses": dict(statuses),
        "unexpected": sorted(set(statuses) - ALLOWED_STATUSES),
        "wrong": wrong,
        "memory_mib": [round(size) for size in (memory[0], after_warmup, max(memory), memory[-1])],
        "memory_growth": round(memory_growth(memory), 3),
    }


def memory_growth(memory: list[float]) -> float:
    """Return the relative growth from the second to the last quarter; the first quarter is warm-up."""
    quarter = len(memory) // 4
    return mean(memory[-quarter:]) / mean(memory[quarter : 2 * quarter]) - 1


def run_benchmark(options: argparse.Namespace, texts: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"run": options.run.name, "texts": len(texts), "seconds": options.seconds}
    engine = ["--engine", options.engine]
    with start_server(options.run, *engine) as (port, _):
        expected = asyncio.run(translate_without_load(port, texts))

        def load(port: int, count: int) -> dict[str, Any]:
            return asyncio.run(run_clients(port, texts, expected, count, options.seconds))

        result["batched"] = [load(port, count) for count in CLIENT_COUNTS]
    with start_server(options.run, *engine, *UNBATCHED_SETTINGS) as (port, _):
        result["unbatched"] = [load(port, count) for count in CLIENT_COUNTS]
    with start_server(options.run, *engine, *OVERLOAD_SETTINGS) as (port, process):
        result["before_overload"] = load(port, 1)
        result["overload"] = asyncio.run(run_overload(port, process, texts, expected, options.minutes))
        result["after_overload"] = load(port, 1)
    return result


def is_healthy(result: dict[str, Any]) -> bool:
    """Return whether all requests got right results or allowed errors, and the server recovered with flat memory."""
    normal = [*result["batched"], *result["unbatched"], result["before_overload"], result["after_overload"]]
    has_only_200 = all(set(load["statuses"]) == {200} for load in normal)
    loads = [*normal, result["overload"]]
    has_all_responses = all(load["sent"] == sum(load["statuses"].values()) and not load["wrong"] for load in loads)
    overload = result["overload"]
    is_bounded = not overload["unexpected"] and overload["memory_growth"] <= MAX_MEMORY_GROWTH
    return has_only_200 and has_all_responses and is_bounded


def report_lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"{'':16}{'clients':>8}{'responses/s':>13}" + "".join(f"{f'p{p} ms':>9}" for p in PERCENTILES)
    for name in ("batched", "unbatched", "before_overload", "after_overload"):
        for load in result[name] if isinstance(result[name], list) else [result[name]]:
            latencies = "".join(f"{load[f'p{p}_ms']:9.1f}" for p in PERCENTILES)
            yield f"{name:16}{load['clients']:8}{load['responses_per_second']:13.1f}{latencies}"
    overload = result["overload"]
    yield f"overload         {overload['sent']} sent, {overload['statuses']}"
    memory, growth = overload["memory_mib"], overload["memory_growth"]
    yield f"memory           first, after warm-up, maximum, last: {memory} MiB, growth {growth:.1%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="file with one sentence per line")
    parser.add_argument("--count", type=int, default=500, help="number of lines to use")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement")
    parser.add_argument("--minutes", type=float, default=0.25, help="duration of the overload")
    parser.add_argument("--engine", choices=["auto", "torch", "ctranslate2"], default="auto")
    parser.add_argument("--json", action="store_true")
    add_options(parser)
    options = parser.parse_args()
    lines = options.texts.read_text("utf-8").splitlines()
    texts = list(dict.fromkeys(line.strip() for line in lines if line.strip()))[: options.count]
    result = run_benchmark(options, texts)
    result["healthy"] = is_healthy(result)
    print(json.dumps(result) if options.json else "\n".join([*report_lines(result), f"healthy: {result['healthy']}"]))
    if options.record and result["healthy"]:
        record("serving", serve_load_rows(result, training_seed(options.run)), options.results)
    elif options.record:
        print("serve_load: not healthy, so nothing is recorded", file=sys.stderr)
    return 0 if result["healthy"] else 1


if __name__ == "__main__":
    sys.exit(main())
