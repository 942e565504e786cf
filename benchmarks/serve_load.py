"""A server under load: throughput with and without batching, latencies, and an overload from which it recovers.

    python benchmarks/serve_load.py runs/mine --texts input.txt --seconds 20 --minutes 10 --json

Clients are coroutines on this machine, each with one connection and one request at a time. Every answer is compared
with what the server said to the same text when it was asked alone, and whatever is sent is answered or refused. While
it is overloaded (a short queue, many more clients than it holds) only 200, 429 and 503 may be seen, and its memory must
stay flat: in the last quarter of that time it may be at most a tenth above what it was in the second.
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

CLIENTS = (1, 8, 64)
OVERLOAD = 256
FEW = ["--set", "queue=64"]
ALONE = ["--set", "batch_tokens=1", "--set", "wait_ms=0"]
ALLOWED = {200, 429, 503}
ROUND = 5.0
"""Seconds between two looks at the memory, or an eighth of the time if that is less."""
GROWTH = 0.1
LONGEST = 150.0
"""Seconds for one answer: longer than the server takes before it gives up by itself."""


class Client:
    """One connection; what is sent and read is HTTP/1.1, and nothing else is measured."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> "Client":
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    async def asked(self, text: str) -> tuple[int, str]:
        """Status and translation; OSError, EOFError or ValueError if nothing comes, or nothing that can be read."""
        async with asyncio.timeout(LONGEST):
            return await self._asked(text)

    async def _asked(self, text: str) -> tuple[int, str]:
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
def server(run: Path, *options: str) -> Iterator[tuple[int, int]]:
    """Port and process number of a server whose models are loaded."""
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
        drain = subprocess.Popen(["cat"], stdin=child.stderr, stdout=subprocess.DEVNULL)  # noqa: S607 - a full pipe would stop it
        while not ready(port):
            time.sleep(0.1)
        yield port, child.pid
        drain.kill()
    finally:
        child.terminate()
        child.wait()


def ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10):
            return True
    except OSError:
        return False


async def told_alone(port: int, texts: list[str]) -> dict[str, str]:
    async with Client(port) as client:
        return {text: (await client.asked(text))[1] for text in texts}


async def load(port: int, texts: list[str], own: dict[str, str], count: int, seconds: float) -> dict[str, Any]:
    """So many clients for so long."""
    statuses, times, wrong, sent = Counter[int](), list[float](), 0, 0
    end = time.monotonic() + seconds

    async def one(number: int) -> None:
        nonlocal wrong, sent
        at = number
        async with Client(port) as client:
            while time.monotonic() < end:
                text = texts[at % len(texts)]
                at += count
                start = time.monotonic()
                sent += 1
                status, answer = await client.asked(text)
                statuses[status] += 1
                if status == 200:
                    times.append(time.monotonic() - start)
                    wrong += answer != own[text]
                else:
                    await asyncio.sleep(0.02)

    async def persistent(number: int) -> None:
        while time.monotonic() < end:
            try:
                await one(number)
            except (OSError, EOFError, ValueError):  # sent and not answered: seen in the sums, and tried again
                await asyncio.sleep(0.1)

    begun = time.monotonic()
    await asyncio.gather(*map(persistent, range(count)))
    spent = time.monotonic() - begun
    cuts = quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    return {
        "clients": count,
        "answers_a_second": round(statuses[200] / spent, 1),
        **{f"p{part}_ms": round(1000 * cuts[part - 1], 1) for part in (50, 95, 99)},
        "sent": sent,
        "statuses": dict(statuses),
        "wrong": wrong,
    }


def memory(process: int) -> float:
    """Resident, in MiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def overload(port: int, process: int, texts: list[str], own: dict[str, str], minutes: float) -> dict[str, Any]:
    """Rounds of far too many clients, and the memory after each."""
    statuses, wrong, sent, sizes = Counter[int](), 0, 0, list[float]()
    end, longest = time.monotonic() + 60 * minutes, min(ROUND, 60 * minutes / 8)
    while time.monotonic() < end or len(sizes) < 4:  # a quarter holds one at least
        found = await load(port, texts, own, OVERLOAD, min(longest, max(0.1, end - time.monotonic())))
        statuses.update(found["statuses"])
        wrong += found["wrong"]
        sent += found["sent"]
        sizes.append(memory(process))
    settled = sizes[len(sizes) // 4 :]
    return {
        "minutes": minutes,
        "clients": OVERLOAD,
        "sent": sent,
        "statuses": dict(statuses),
        "unexpected": sorted(set(statuses) - ALLOWED),
        "wrong": wrong,
        "memory_mib": [round(size) for size in (sizes[0], settled[0], max(sizes), sizes[-1])],
        "memory_growth": round(grown(sizes), 3),
    }


def grown(sizes: list[float]) -> float:
    """By what part the mean of the last quarter is above that of the second: the first is spent on warming up."""
    quarter = len(sizes) // 4
    return mean(sizes[-quarter:]) / mean(sizes[quarter : 2 * quarter]) - 1


def measured(options: argparse.Namespace, texts: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"run": options.run.name, "texts": len(texts), "seconds": options.seconds}
    common = ["--engine", options.engine]
    with server(options.run, *common) as (port, _):
        own = asyncio.run(told_alone(port, texts))
        result["batched"] = [asyncio.run(load(port, texts, own, count, options.seconds)) for count in CLIENTS]
    with server(options.run, *common, *ALONE) as (port, _):
        result["one_at_a_time"] = [asyncio.run(load(port, texts, own, count, options.seconds)) for count in CLIENTS]
    with server(options.run, *common, *FEW) as (port, process):
        before = asyncio.run(load(port, texts, own, 1, options.seconds))
        result["overload"] = asyncio.run(overload(port, process, texts, own, options.minutes))
        result["before_overload"] = before
        result["after_overload"] = asyncio.run(load(port, texts, own, 1, options.seconds))
    return result


def healthy(result: dict[str, Any]) -> bool:
    """Whether everybody got an answer and nobody another's, nothing strange was said, and all was well again."""
    quiet = [*result["batched"], *result["one_at_a_time"], result["before_overload"], result["after_overload"]]
    well = all(set(one["statuses"]) == {200} for one in quiet) and not result["overload"]["unexpected"]
    every = [*quiet, result["overload"]]
    told = all(one["sent"] == sum(one["statuses"].values()) and not one["wrong"] for one in every)
    return well and told and result["overload"]["memory_growth"] <= GROWTH


def shown(result: dict[str, Any]) -> Iterator[str]:
    yield f"{'':16}{'clients':>8}{'answers/s':>11}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}"
    for name in ("batched", "one_at_a_time", "before_overload", "after_overload"):
        for one in result[name] if isinstance(result[name], list) else [result[name]]:
            figures = "".join(f"{one[f'p{part}_ms']:9.1f}" for part in (50, 95, 99))
            yield f"{name:16}{one['clients']:8}{one['answers_a_second']:11.1f}{figures}"
    over = result["overload"]
    yield f"overload         {over['sent']} sent, {over['statuses']}"
    yield f"memory           first, settled, most, last: {over['memory_mib']} MiB, grown by {over['memory_growth']:.1%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="one sentence a line")
    parser.add_argument("--count", type=int, default=500, help="lines that are used")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--minutes", type=float, default=0.25, help="of overload")
    parser.add_argument("--engine", choices=["auto", "torch", "ctranslate2"], default="auto")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lines = options.texts.read_text("utf-8").splitlines()
    texts = list(dict.fromkeys(line.strip() for line in lines if line.strip()))[: options.count]
    result = measured(options, texts)
    result["healthy"] = healthy(result)
    print(json.dumps(result) if options.json else "\n".join([*shown(result), f"healthy: {result['healthy']}"]))
    return 0 if result["healthy"] else 1


if __name__ == "__main__":
    sys.exit(main())
