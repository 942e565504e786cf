"""Load test of the server: share of the offline speed, throughput, latency, overload, and recovery from it.

    python benchmarks/serve_load.py runs/mine --texts input.txt --seconds 20 --minutes 10 --record

Four measurements, all on this machine, with the client in one process (load_client.py):

- Rounds (--rounds): sentences/s of the same engine without a server (offline_rate.py), then responses/s of 64 clients
  with one sentence each, then of 4 and 16 times as many clients. The server is the same for all loads, with a queue of
  64 sentences. The share of a round is its responses/s relative to its offline rate; that of an overload, relative to
  its 64 clients before. The
  client is wrk where it is installed (apt-get install wrk), otherwise the Python client, which takes more CPU time from
  the server. CPU seconds of server and client are reported: on a machine that both share, responses per CPU second of
  the server compare best with sentences per CPU second offline.
- Requests batched and one at a time: 1, 8 and 64 Python clients, with latencies.
- A long overload (--minutes): 256 Python clients for a queue of 64. The only statuses allowed are 200, 429 and 503.
  Memory must stay flat: its mean in the last quarter may be at most 10 % above that of the second quarter.
- One client before and after the overload.

Each response to the Python client is compared with the server's response to the same text without load. --record
writes the figures of a healthy server to benchmarks/results/serving.json; those of the long overload if it took ten
minutes.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from load_client import PERCENTILES, LoadClient, LoadResult, has_wrk
from load_server import Server, start_server
from machine import machine
from record import add_options, record, training_seed
from rows import serve_load_rows
from serve_rounds import OVERLOAD_FACTORS, OVERLOAD_QUEUE, OVERLOAD_SETTINGS, SHARE_CLIENTS, run_rounds, summarize
from serve_rows import share_rows

from tongsa.system import allow_open_files

CLIENT_COUNTS = (1, 8, 64)
OVERLOAD_CLIENTS = 256
UNBATCHED_SETTINGS = ["--set", "batch_tokens=1", "--set", "batch_wait_ms=0"]
ALLOWED_STATUSES = {200, 429, 503}
MEMORY_INTERVAL = 5.0
"""Seconds between two measurements of the memory; an eighth of the overload if that is less."""
MAX_MEMORY_GROWTH = 0.1
NO_WRK = "serve_load: wrk is not installed, so the Python client measures the rounds. Install it: apt-get install wrk"


def run_overload(server: Server, client: LoadClient, minutes: float) -> dict[str, Any]:
    """Run too many clients in rounds; measure the memory after each round."""
    total, memory = LoadResult(OVERLOAD_CLIENTS), list[float]()
    end, interval = time.monotonic() + 60 * minutes, min(MEMORY_INTERVAL, 60 * minutes / 8)
    while time.monotonic() < end or len(memory) < 4:  # at least one measurement in each quarter
        result = client.run(OVERLOAD_CLIENTS, min(interval, max(0.1, end - time.monotonic())))
        total.statuses.update(result.statuses)
        total.wrong += result.wrong
        total.sent += result.sent
        memory.append(server.memory)
    after_warmup = memory[len(memory) // 4]
    return {
        "minutes": minutes,
        "clients": OVERLOAD_CLIENTS,
        "queue": OVERLOAD_QUEUE,
        "sent": total.sent,
        "statuses": dict(total.statuses),
        "unexpected": sorted(set(total.statuses) - ALLOWED_STATUSES),
        "wrong": total.wrong,
        "memory_mib": [round(size) for size in (memory[0], after_warmup, max(memory), memory[-1])],
        "memory_growth": round(memory_growth(memory), 3),
    }


def memory_growth(memory: list[float]) -> float:
    """Return the relative growth from the second to the last quarter; the first quarter is warm-up."""
    quarter = len(memory) // 4
    return mean(memory[-quarter:]) / mean(memory[quarter : 2 * quarter]) - 1


def run_benchmark(options: argparse.Namespace, texts: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"machine": machine(), "run": options.run.name, "texts": len(texts)}
    result["seconds"] = options.seconds
    engine = ["--engine", options.engine]
    with start_server(options.run, *engine) as server:
        expected = LoadClient(server.port, texts).translate_all()
        client = LoadClient(server.port, texts, expected)
        result["batched"] = [client.run(count, options.seconds).report() for count in CLIENT_COUNTS]
    with start_server(options.run, *engine, *UNBATCHED_SETTINGS) as server:
        client = LoadClient(server.port, texts, expected)
        result["unbatched"] = [client.run(count, options.seconds).report() for count in CLIENT_COUNTS]
    result |= {"client": options.client, "rounds": run_rounds(options, texts, expected)}
    result |= {"engine": result["rounds"][0]["offline"]["engine"]} | summarize(result["rounds"])
    with start_server(options.run, *engine, *OVERLOAD_SETTINGS) as server:
        client = LoadClient(server.port, texts, expected)
        result["before_overload"] = client.run(1, options.seconds).report()
        result["overload"] = run_overload(server, client, options.minutes)
        result["after_overload"] = client.run(1, options.seconds).report()
    return result


def is_healthy(result: dict[str, Any]) -> bool:
    """Return whether all requests got right results or allowed errors, and the server recovered with flat memory."""
    normal = [*result["batched"], *result["unbatched"], result["before_overload"], result["after_overload"]]
    normal += [turn["clients"] for turn in result["rounds"]]
    has_only_200 = all(set(load["statuses"]) == {200} for load in normal)
    overloads = [result["overload"], *(load for turn in result["rounds"] for load in turn["overload"].values())]
    loads = [*normal, *overloads]
    has_all_responses = all(load["sent"] == sum(load["statuses"].values()) and not load["wrong"] for load in loads)
    has_only_allowed = all(set(load["statuses"]) <= ALLOWED_STATUSES for load in overloads)
    is_bounded = result["overload"]["memory_growth"] <= MAX_MEMORY_GROWTH
    return has_only_200 and has_all_responses and has_only_allowed and is_bounded


def report_lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"{'':16}{'clients':>8}{'responses/s':>13}" + "".join(f"{f'p{p} ms':>9}" for p in PERCENTILES)
    for name in ("batched", "unbatched", "before_overload", "after_overload"):
        for load in result[name] if isinstance(result[name], list) else [result[name]]:
            latencies = "".join(f"{load[f'p{p}_ms']:9.1f}" for p in PERCENTILES)
            yield f"{name:16}{load['clients']:8}{load['responses_per_second']:13.1f}{latencies}"
    yield from round_lines(result)
    overload = result["overload"]
    yield f"overload         {overload['sent']} sent, {overload['statuses']}"
    memory, growth = overload["memory_mib"], overload["memory_growth"]
    yield f"memory           first, after warm-up, maximum, last: {memory} MiB, growth {growth:.1%}"


def round_lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"rounds           engine {result['engine']}, client {result['client']}; per second, and per CPU second"
    for turn in result["rounds"]:
        offline = turn["offline"]
        yield (
            f"  offline        {offline['sentences_per_second']:8.1f} sentences/s "
            f"{offline['sentences_per_cpu_second']:8.1f} per CPU s  ({offline['engine']})"
        )
        loads = {f"{SHARE_CLIENTS} clients": turn["clients"]}
        loads |= {f"overload {factor}x": turn["overload"][str(factor)] for factor in OVERLOAD_FACTORS}
        for name, load in loads.items():
            yield (
                f"  {name:14} {load['responses_per_second']:8.1f} responses/s {load['responses_per_cpu_second']:8.1f} "
                f"per CPU s  server {load['server_cpu_seconds']} s, client {load['client_cpu_seconds']} s"
            )
    for name, key in (("of offline", "offline_share"), ("of offline, by CPU time", "offline_share_by_cpu")):
        yield f"share            {format_share(result[key])} {name}"
    for factor, share in result["overload_shares"].items():
        yield f"overload {factor:>3}x    {format_share(share)} of the unloaded rate"


def format_share(share: dict[str, float]) -> str:
    return f"{share['median']:.0%} ({share['low']:.0%}-{share['high']:.0%})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="file with one sentence per line")
    parser.add_argument("--count", type=int, default=500, help="number of lines to use")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions of the comparison with the offline speed")
    parser.add_argument("--minutes", type=float, default=0.25, help="duration of the long overload")
    parser.add_argument("--engine", choices=["auto", "torch", "ctranslate2", "ctranslate2-int8"], default="auto")
    parser.add_argument("--client", choices=["wrk", "python"], help="client of the rounds; default: wrk if installed")
    parser.add_argument("--json", action="store_true")
    add_options(parser)
    options = parser.parse_args()
    if options.client == "wrk" and not has_wrk():
        parser.error("--client wrk: wrk is not installed. Install it: apt-get install wrk")
    if options.client is None and not has_wrk():
        print(NO_WRK, file=sys.stderr)
    options.client = options.client or ("wrk" if has_wrk() else "python")
    allow_open_files(4 * max(OVERLOAD_FACTORS) * OVERLOAD_QUEUE)
    lines = options.texts.read_text("utf-8").splitlines()
    texts = list(dict.fromkeys(line.strip() for line in lines if line.strip()))[: options.count]
    result = run_benchmark(options, texts)
    result["healthy"] = is_healthy(result)
    print(json.dumps(result) if options.json else "\n".join([*report_lines(result), f"healthy: {result['healthy']}"]))
    if options.record and result["healthy"]:
        seeds = training_seed(options.run)
        record("serving", [*serve_load_rows(result, seeds), *share_rows(result, seeds)], options.results)
    elif options.record:
        print("serve_load: not healthy, so nothing is recorded", file=sys.stderr)
    return 0 if result["healthy"] else 1


if __name__ == "__main__":
    sys.exit(main())
