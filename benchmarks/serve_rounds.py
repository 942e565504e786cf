"""Rounds of the load test: the offline speed of an engine, the same engine behind the server, and overloads.

The server is compared with the same engine in the same round. On a machine that server and client share, the client
takes CPU time from the server; so CPU seconds are counted, too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from load_client import LoadClient, run_wrk
from load_server import Server, start_server

SHARE_CLIENTS = 64
OVERLOAD_QUEUE = 64
OVERLOAD_SETTINGS = ["--set", f"max_queued_sentences={OVERLOAD_QUEUE}"]
OVERLOAD_FACTORS = (4, 16)
"""Clients relative to the sentences that the queue holds. Without overload they are as many."""


def measure_offline(options: argparse.Namespace, texts: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "texts")
        file.write_text("".join(f"{text}\n" for text in texts), "utf-8")
        script = str(Path(__file__).with_name("offline_rate.py"))
        command = [sys.executable, script, str(options.run), "--texts", str(file), "--engine", options.engine]
        command += ["--seconds", str(options.seconds)]
        report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return {
        "engine": report["engine"],
        "sentences_per_second": round(report["sentences"] / report["seconds"], 1),
        "sentences_per_cpu_second": round(report["sentences"] / report["cpu_seconds"], 1),
    }


def measure_load(server: Server, client: LoadClient, clients: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run one load of a round, and count the CPU time of the server."""
    before = server.cpu_seconds
    if options.client == "wrk":
        load = run_wrk(server.port, client.texts, clients, options.seconds)
    else:
        load = client.run(clients, options.seconds)
    cpu_seconds = server.cpu_seconds - before
    return load.report() | {
        "responses_per_cpu_second": round(load.statuses[200] / max(cpu_seconds, 0.01), 1),
        "server_cpu_seconds": round(cpu_seconds, 2),
    }


def run_rounds(options: argparse.Namespace, texts: list[str], expected: list[str]) -> list[dict[str, Any]]:
    """Measure offline, 64 clients and each overload of the same server in turns: all rounds see the same machine."""
    with start_server(options.run, "--engine", options.engine, *OVERLOAD_SETTINGS) as server:
        client = LoadClient(server.port, texts, expected)

        def load(count: int) -> dict[str, Any]:
            return measure_load(server, client, count, options)

        load(SHARE_CLIENTS)  # warm-up
        return [
            {
                "offline": measure_offline(options, texts),
                "clients": load(SHARE_CLIENTS),
                "overload": {str(factor): load(factor * OVERLOAD_QUEUE) for factor in OVERLOAD_FACTORS},
            }
            for _ in range(options.rounds)
        ]


def summarize(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return median, lowest and highest value of each share over the rounds."""

    def spread(values: list[float]) -> dict[str, float]:
        return {"median": round(median(values), 3), "low": round(min(values), 3), "high": round(max(values), 3)}

    def rates(load: str) -> list[float]:
        return [turn[load]["responses_per_second"] for turn in rounds]

    offline = [turn["offline"]["sentences_per_second"] for turn in rounds]
    offline_cpu = [turn["offline"]["sentences_per_cpu_second"] for turn in rounds]
    by_cpu = [turn["clients"]["responses_per_cpu_second"] for turn in rounds]
    shares = {
        factor: spread(
            [
                turn["overload"][factor]["responses_per_second"] / max(turn["clients"]["responses_per_second"], 0.1)
                for turn in rounds
            ]
        )
        for factor in rounds[0]["overload"]
    }
    return {
        "offline_share": spread([rate / base for rate, base in zip(rates("clients"), offline, strict=True)]),
        "offline_share_by_cpu": spread([rate / base for rate, base in zip(by_cpu, offline_cpu, strict=True)]),
        "overload_shares": shares,
    }
