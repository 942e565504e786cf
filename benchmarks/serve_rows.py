"""Rows of the load test's rounds: the server relative to the same engine offline, and overloads."""

from collections.abc import Iterator
from statistics import median
from typing import Any

from record import Measurement, to_number, to_spread


def share_rows(report: dict[str, Any], seeds: list[int] | None) -> Iterator[Measurement]:
    """Yield the throughput of 64 clients relative to the offline speed, and that of each overload."""
    rounds = report["rounds"]
    notes = f"{report['engine']}. Medians of {len(rounds)} rounds; the client is {report['client']}."
    clients = [turn["clients"] for turn in rounds]
    offline = [turn["offline"] for turn in rounds]
    rates = [load["responses_per_second"] for load in clients]
    yield Measurement(
        id="serve-offline-share-{cpu}",
        table="throughput",
        headline=True,
        what=f"{clients[0]['clients']} clients, compared with the same engine without a server",
        value=to_number(median(rates), 1),
        unit="responses/s",
        spread=to_spread(rates, 1),
        baseline="offline",
        baseline_value=to_number(median(turn["sentences_per_second"] for turn in offline), 1),
        seeds=seeds,
        notes=notes,
        details={
            "share, %": to_number(100 * report["offline_share"]["median"]),
            "share by CPU time, %": to_number(100 * report["offline_share_by_cpu"]["median"]),
            "client CPU, % of the server's": to_number(100 * median(map(client_share, clients))),
        },
    )
    for factor, share in report["overload_shares"].items():
        loads = [turn["overload"][factor] for turn in rounds]
        values = [load["responses_per_second"] for load in loads]
        yield Measurement(
            id=f"serve-overload-{factor}x-{{cpu}}",
            table="overload",
            headline=factor == "16",
            what=f"{loads[0]['clients']} clients, queue of {report['overload']['queue']}: {factor} times its sentences",
            value=to_number(median(values), 1),
            unit="responses/s",
            spread=to_spread(values, 1),
            baseline="64 clients, no overload",
            baseline_value=to_number(median(rates), 1),
            seeds=seeds,
            notes=notes,
            details={
                "share, %": to_number(100 * share["median"]),
                "client CPU, % of the server's": to_number(100 * median(map(client_share, loads))),
            },
        )


def client_share(load: dict[str, Any]) -> float:
    """Return the CPU time of the client relative to that of the server."""
    return float(load["client_cpu_seconds"]) / max(float(load["server_cpu_seconds"]), 0.01)
