"""Resident memory of the server after varied requests: does it level off, and which kind of request takes it?

    python benchmarks/serve_memory.py RUN --texts FILE
    python benchmarks/serve_memory.py RUN --texts FILE --requests 10000 --record

RUN is a translation model, FILE has one sentence per line. First each kind of request is sent alone, some times, and
the growth is reported by kind; then, to a new server, all kinds in random order, one request at a time. Every response
must be 200. --record writes the memory after 10,000 requests to benchmarks/results/serving.json.
"""

import argparse
import http.client
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from load_server import Server, start_server
from machine import machine
from record import Measurement, add_options, record, to_number
from serve_probe import Body, document_body, to_body

ALONE = 40
"""Requests of each kind that are sent alone."""
MARKS = (0, 100, 1_000, 4_000, 6_000, 10_000)
"""Numbers of requests after which the memory is read."""
RECORDED_REQUESTS = 10_000
TIMEOUT = 120.0
Maker = Callable[[Random, Sequence[str]], Body]


def _lines(random: Random, texts: Sequence[str]) -> Body:
    return to_body({"text": "\n".join(random.sample(texts, random.randint(2, 20)))})


def _nbest(random: Random, texts: Sequence[str]) -> Body:
    options = {"nbest": random.randint(2, 6), "beam": random.randint(6, 9), "token_probabilities": True}
    return to_body({"text": random.choice(texts), "alignments": True, **options})


def _glossary(random: Random, texts: Sequence[str]) -> Body:
    text = random.choice(texts)
    terms = [{"source": word, "target": "Wort"} for word in random.sample(text.split(), min(2, len(text.split())))]
    return to_body({"text": text, "glossary": terms})


def _document(random: Random, texts: Sequence[str]) -> Body:
    return document_body("\n\n".join(random.sample(texts, 8)).encode(), f"a.{random.choice(['md', 'txt', 'html'])}")


KINDS: dict[str, Maker] = {
    "one sentence": lambda random, texts: to_body({"text": random.choice(texts)}),
    "2 to 20 lines": _lines,
    "n-best lists with probabilities": _nbest,
    "glossary": _glossary,
    "documents": _document,
    "continuations": lambda random, texts: to_body({"text": random.choice(texts), "prefix": "A"}, "/v1/alternatives"),
    "scores": lambda random, texts: to_body({"source": random.choice(texts), "target": "A b."}, "/v1/score"),
    "attention": lambda random, texts: to_body({"text": random.choice(texts)}, "/v1/attention"),
    "search trees": lambda random, texts: to_body({"text": random.choice(texts)}, "/v1/tree"),
    "traces": lambda random, texts: to_body({"text": random.choice(texts)}, "/v1/trace"),
}


class Client:
    """Sends one request after the other."""

    def __init__(self, server: Server, seed: int, texts: Sequence[str]) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
        self.random, self.texts = Random(seed), texts

    def send(self, kind: str) -> None:
        body = KINDS[kind](self.random, self.texts)
        self.connection.request("POST", body.path, body.content, {"Content-Type": body.content_type})
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise SystemExit(f"{kind}: {response.status} {content[:300]!r} for {body.content[:300]!r}")


def growth_by_kind(run: Path, texts: Sequence[str], seed: int) -> Iterator[tuple[str, float]]:
    with start_server(run) as server:
        client = Client(server, seed, texts)
        for kind in KINDS:
            before = server.memory
            for _ in range(ALONE):
                client.send(kind)
            yield kind, server.memory - before


def memory_after(run: Path, texts: Sequence[str], seed: int, requests: int) -> dict[int, float]:
    memory = {}
    with start_server(run) as server:
        client = Client(server, seed, texts)
        for number in range(requests + 1):
            if number in MARKS or number == requests:
                memory[number] = server.memory
            if number < requests:
                client.send(client.random.choice(list(KINDS)))
    return memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="file with one sentence per line")
    parser.add_argument("--requests", type=int, default=1000, help="varied requests (default: 1000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    add_options(parser)
    options = parser.parse_args()
    if options.record and options.requests != RECORDED_REQUESTS:
        parser.error(f"--record: the published row has {RECORDED_REQUESTS:,} requests. Give --requests 10000.")
    texts = options.texts.read_text("utf-8").splitlines()
    growth = dict(growth_by_kind(options.run, texts, options.seed))
    memory = memory_after(options.run, texts, options.seed, options.requests)
    report: dict[str, Any] = {"growth_by_kind": growth, "memory": memory, "machine": machine()}
    if options.json:
        print(json.dumps(report))
    else:
        for kind, mebibytes in growth.items():
            print(f"{ALONE} × {kind:34} {mebibytes:+7.1f} MiB")
        for number, mebibytes in memory.items():
            print(f"after {number:6,} varied requests {mebibytes:13.0f} MiB")
    if options.record:
        record("serving", [measurement(memory, growth, options.seed)], options.results)
    return 0


def measurement(memory: dict[int, float], growth: dict[str, float], seed: int) -> Measurement:
    return Measurement(
        id="varied-memory-{cpu}",
        table="memory",
        what=f"Resident memory after {RECORDED_REQUESTS:,} varied requests",
        value=to_number(memory[RECORDED_REQUESTS]),
        unit="MiB",
        baseline="at the start",
        baseline_value=to_number(memory[0]),
        seeds=[seed],
        details={f"after {number:,}": to_number(memory[number]) for number in MARKS[1:-1]}
        | {f"{ALONE} × {kind}": to_number(mebibytes) for kind, mebibytes in growth.items()},
    )


if __name__ == "__main__":
    sys.exit(main())
