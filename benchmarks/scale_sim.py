"""Data-parallel training on 1 to 1024 workers, simulated: how many workers, how long, which checkpoint interval.

    python benchmarks/scale_sim.py --hardware EPYC                        WMT14 base; A100s without --hardware
    python benchmarks/scale_sim.py --recipe recipes/wmt14-en-de-big.toml --bandwidth-gb 12.5 --mtbf-hours 24 --json

The tokens of an update are divided among the workers: it stays as large as in the recipe. An update lasts

    serial time + slowest worker + all-reduce, as far as the backward pass does not hide it

A worker needs (1 − jitter + jitter·E) times its mean, with E exponential of mean 1. An all-reduce of S bytes takes

    ring    2(n−1)/n · S/bandwidth + 2(n−1) · latency
    tree    2 · S/bandwidth + 2⌈log₂ n⌉ · latency           two binary trees, pipelined (Sanders et al. 2009)

A node fails after an exponential time. All workers then restart at the last checkpoint; a restart may fail, too. While
rank 0 writes a checkpoint or validates, the others wait. Speed-up is relative to one worker that does neither and never
fails. The recipe gives the model, cost.py its FLOPs and the speed of the hardware.
"""

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import cost
import numpy as np
import torch
from numpy.typing import NDArray

from tongsa.cli.setting_table import field_docstrings
from tongsa.config import Fraction, In, NonNegative, NonNegativeFloat, Positive, PositiveFloat, check_ranges, read_toml
from tongsa.errors import EXIT_INPUT_ERROR, InputError
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs.recipe import parse_recipe

Bandwidth = Annotated[float, In(0, open_low=True)]
"""Gigabytes per second, without a largest value: a network without cost can be simulated."""
Floats = NDArray[np.float64]
RECIPE = Path(__file__).parent.parent / "recipes/wmt14-en-de-base.toml"
WORKERS = tuple(2**power for power in range(11))
LOSSES = ("serial", "communication", "stragglers", "checkpoints", "failures")
BACKWARD = 2 / 3
"""Share of the backward pass in the work of a worker: 4 of 6 FLOPs per weight and token."""
CHECKPOINT_BYTES, CHECKPOINT_SPEED = 12, 0.2e9
"""Bytes per parameter (the weight and two moments of Adam in fp32); bytes/s, checksum included, measured (LOG.md)."""
MAX_FAILURES = 4.6
"""Mean number of failures in a segment above which it counts as never done: 1 of 100 attempts would succeed."""
QUADRATURE = (np.arange(1000) + 0.5) / 1000  # midpoints in (0, 1), for means without random draws


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    steps: Positive
    """Updates of the run."""
    tokens_per_update: Positive
    """Target tokens of an update, divided among the workers."""
    parameters: Positive
    """Weights of the model."""
    tokens_per_second: PositiveFloat
    """Target tokens/s of one worker alone, in whole updates."""
    serial_seconds: NonNegativeFloat
    """Part of an update that more workers do not shorten: kernel launches, optimizer."""
    validate_every: Positive
    """Updates between validations."""
    validation_seconds: NonNegativeFloat
    """Time of a validation."""
    jitter: Fraction = 0.05
    """Standard deviation of a worker's time, as a share of its mean."""
    all_reduce: Literal["ring", "tree"] = "ring"
    """Algorithm that sums the gradients."""
    gradient_bytes: Positive = 4
    """Bytes per gradient on the network."""
    latency_us: NonNegativeFloat
    """Microseconds per message (α)."""
    bandwidth_gb: Bandwidth
    """GB/s of the network of a node, in one direction (β)."""
    node_bandwidth_gb: Bandwidth
    """GB/s between the workers of one node, in one direction."""
    workers_per_node: Positive
    """Workers of a node, which fail together."""
    overlap: Fraction = 0.5
    """Share of the backward pass during which an all-reduce is hidden."""
    mtbf_hours: NonNegativeFloat = 6300.0
    """Mean time between failures of a node; 0: none. Llama 3 (2024): 419 on 2,048 nodes of 8 GPUs in 54 days."""
    restart_seconds: NonNegativeFloat = 300.0
    """Time from a failure to the next update: rendezvous, reading the corpus and the checkpoint."""
    checkpoint_seconds: NonNegativeFloat
    """Time to write a checkpoint."""
    checkpoint_every: NonNegative = 0
    """Updates between checkpoints; 0: the best interval by Daly's formula."""
    trials: Positive = 1000
    """Simulated runs."""
    seed: NonNegative = 1
    """Seed of all random draws."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.serial_seconds > self.tokens_per_update / self.tokens_per_second:
            raise ValueError("serial_seconds: longer than an update. Give a smaller --serial-seconds.")

    def mtbf(self, workers: int) -> float:
        """Return the mean time between failures of all nodes together, in seconds."""
        return self.mtbf_hours * 3600 / math.ceil(workers / self.workers_per_node) if self.mtbf_hours else math.inf


NODE = ("workers_per_node", "node_bandwidth_gb", "bandwidth_gb", "latency_us", "serial_seconds", "validation_seconds")
NODES = {
    "V100": (8, 150.0, 12.5, 10.0, 0.015, 5.0),
    "A100": (8, 300.0, 25.0, 10.0, 0.015, 5.0),
    "H100": (8, 450.0, 50.0, 10.0, 0.015, 5.0),
    "EPYC": (1, 10.0, 1.25, 50.0, 0.05, 35.0),
}
"""Nodes of the hardware in cost.py. NVLink is from data sheets, the EPYC's optimizer measured, the rest assumed."""


def all_reduce_seconds(a: Assumptions, workers: int) -> float:
    if workers == 1:
        return 0.0
    bandwidth = a.node_bandwidth_gb if workers <= a.workers_per_node else min(a.bandwidth_gb, a.node_bandwidth_gb)
    transfer, latency = a.parameters * a.gradient_bytes / (bandwidth * 1e9), a.latency_us * 1e-6
    if a.all_reduce == "ring":
        return 2 * (workers - 1) / workers * transfer + 2 * (workers - 1) * latency
    return 2 * transfer + 2 * math.ceil(math.log2(workers)) * latency


def slowest_worker(jitter: float, workers: int, uniform: Floats) -> Floats:
    """Return the time of the slowest worker, in means of one: the largest of n draws, from one uniform number."""
    largest_exponential = -np.log(-np.expm1(np.log(uniform) / workers))  # inverse of (1 − exp(−x))ⁿ
    return 1 - jitter + jitter * largest_exponential


def update_seconds(a: Assumptions, workers: int, uniform: Floats) -> dict[str, Floats]:
    """Return the parts of the time of updates; useful is what one worker alone needs, divided by the workers."""
    work = (a.tokens_per_update / a.tokens_per_second - a.serial_seconds) / workers
    single, slowest = (work * slowest_worker(a.jitter, count, uniform) for count in (1, workers))
    serial = a.serial_seconds * (1 - 1 / workers) + a.validation_seconds / a.validate_every
    return {
        "useful": single + a.serial_seconds / workers,
        "serial": np.full_like(single, serial),
        "communication": np.maximum(all_reduce_seconds(a, workers) - a.overlap * BACKWARD * slowest, 0),
        "stragglers": slowest - single,
    }


def mean_update_seconds(a: Assumptions, workers: int) -> float:
    return sum(float(part.mean()) for part in update_seconds(a, workers, QUADRATURE).values())


def young_interval(checkpoint: float, mtbf: float) -> float:
    """Return the best seconds of work between checkpoints in first order (Young 1974)."""
    return math.sqrt(2 * checkpoint * mtbf) if checkpoint else 0.0


def daly_interval(checkpoint: float, mtbf: float) -> float:
    """Return the best seconds of work between checkpoints in higher order (Daly 2006)."""
    if checkpoint >= 2 * mtbf:
        return mtbf
    ratio = checkpoint / (2 * mtbf)
    return young_interval(checkpoint, mtbf) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - checkpoint


def daly_seconds(length: float, mtbf: float, restart: float) -> float:
    """Return the mean time of a segment of this length with its failures and restarts (Daly 2006)."""
    if mtbf == math.inf or max(length, restart) > MAX_FAILURES * mtbf:
        return length if mtbf == math.inf else math.inf
    return mtbf * math.exp(restart / mtbf) * math.expm1(length / mtbf)


def failure_seconds(random: np.random.Generator, lengths: Floats, mtbf: float, restart: float) -> Floats:
    """Draw the time that failures cost each segment: the work that was lost, and the restarts."""
    lost, running = np.zeros_like(lengths), np.arange(len(lengths))
    while mtbf < math.inf and len(running):
        until_failure = random.exponential(mtbf, len(running))  # memoryless: a new draw for each attempt
        failed = until_failure < lengths[running]
        running = running[failed]
        lost[running] += until_failure[failed]
        if restart:
            restarts = np.full(len(running), restart)
            lost[running] += restarts + failure_seconds(random, restarts, mtbf, 0.0)
    return lost


def checkpoint_steps(a: Assumptions, workers: int) -> int:
    """Return the updates between checkpoints: the fixed number, or the best."""
    best = daly_interval(a.checkpoint_seconds, a.mtbf(workers)) / mean_update_seconds(a, workers)
    return max(1, round(min(a.checkpoint_every or best, a.steps)))


def expected_seconds(a: Assumptions, workers: int) -> float:
    """Return the mean time of a run by Daly's formula; infinite if failures never let it finish."""
    interval = checkpoint_steps(a, workers)
    segment = interval * mean_update_seconds(a, workers) + a.checkpoint_seconds
    return a.steps / interval * daly_seconds(segment, a.mtbf(workers), a.restart_seconds)


def simulate(a: Assumptions, workers: int) -> dict[str, Any]:
    """Return the mean figures of simulated runs; `days` is None if failures never let them finish."""
    # the same draws for all numbers of workers: rows do not differ by chance
    uniform = np.random.default_rng(a.seed).uniform(sys.float_info.min, 1, a.steps)
    parts, mtbf, steps = update_seconds(a, workers, uniform), a.mtbf(workers), checkpoint_steps(a, workers)
    updates = np.sum([*parts.values()], axis=0)
    segments = np.add.reduceat(updates, np.arange(0, a.steps, steps)) + a.checkpoint_seconds
    row: dict[str, Any] = {"workers": workers, "update_seconds": float(updates.mean()), "checkpoint_every": steps}
    for name, interval in {"young_seconds": young_interval, "daly_seconds": daly_interval}.items():
        row[name] = interval(a.checkpoint_seconds, mtbf) if mtbf < math.inf else None
    if expected_seconds(a, workers) == math.inf:
        return row | {"days": None, "days_sd": None, "speed_up": 0.0, "shares": {}}
    random = np.random.default_rng([a.seed, workers])
    failures = [failure_seconds(random, segments, mtbf, a.restart_seconds).sum() for _ in range(a.trials)]
    seconds = segments.sum() + np.array(failures)
    sums = {name: part.sum() for name, part in parts.items()}
    sums |= {"checkpoints": a.checkpoint_seconds * len(segments), "failures": np.mean(failures)}
    shares = {name: float(value / seconds.mean()) for name, value in sums.items()}
    row |= {"days": float(seconds.mean()) / cost.DAY, "days_sd": float(seconds.std()) / cost.DAY}
    return row | {"speed_up": shares["useful"] * workers, "shares": shares}


def worker_limits(a: Assumptions, limit: int) -> dict[str, int]:
    """Return the fastest number of workers, the smallest within 10 % of its time, the largest half efficient, or 0."""
    alone = a.steps * a.tokens_per_update / a.tokens_per_second
    times = {n: seconds for n in range(1, limit + 1) if (seconds := expected_seconds(a, n)) < math.inf}
    fastest = min(times, key=times.__getitem__, default=0)
    enough = next((workers for workers, seconds in times.items() if seconds <= 1.1 * times[fastest]), 0)
    efficient = [workers for workers, seconds in times.items() if alone >= workers * seconds / 2]
    return {"fastest": fastest, "enough": enough, "half_efficient": max(efficient, default=0)}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_options(arguments)
    try:
        a = read_assumptions(options)
    except (InputError, ValueError) as error:
        print(f"scale_sim: {error}", file=sys.stderr)
        return EXIT_INPUT_ERROR
    report = {"recipe": options.recipe.stem, "hardware": options.hardware, "assumptions": asdict(a)}
    report |= {"rows": [simulate(a, workers) for workers in options.workers]} | worker_limits(a, WORKERS[-1])
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    return 0


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, default=RECIPE, metavar="FILE", help="of a Transformer; default: base")
    parser.add_argument("--hardware", choices=NODES, default="A100", help="default: A100")
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS, metavar="COUNT", help="rows of the table")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    group, types = parser.add_argument_group("assumptions"), get_type_hints(Assumptions)
    for name, meaning in field_docstrings(Assumptions).items():
        words = get_args(types[name])  # of a Literal
        keywords: dict[str, Any] = {"choices": words} if words else {"type": types[name], "metavar": "NUMBER"}
        group.add_argument(f"--{name.replace('_', '-')}", help=meaning, default=argparse.SUPPRESS, **keywords)
    options = parser.parse_args(arguments)
    if not all(1 <= workers <= WORKERS[-1] for workers in options.workers):
        parser.error(f"--workers: out of range. Give numbers from 1 to {WORKERS[-1]}.")
    return options


def read_assumptions(options: argparse.Namespace) -> Assumptions:
    """Return the values of the recipe and the hardware, replaced by those of the command line."""
    recipe = parse_recipe(read_toml(options.recipe), str(options.recipe))
    model, training, vocab_size = recipe.model, recipe.training, recipe.tokenizer.vocab_size
    if not isinstance(model, TransformerConfig):
        raise InputError(f"--recipe {options.recipe}: not an encoder–decoder Transformer. Give the recipe of one.")
    with torch.device("meta"):
        parameters = sum(weight.numel() for weight in model.build(vocab_size, vocab_size).parameters())
    worker = replace(cost.HARDWARE[options.hardware], count=1)
    values: dict[str, Any] = {
        "steps": training.steps,
        "tokens_per_update": training.batch_tokens * training.grad_accumulation,
        "parameters": parameters,
        "tokens_per_second": round(1 / cost.seconds(cost.flops(model, vocab_size, 1, cost.LENGTH), worker)),
        "validate_every": training.validate_every,
        "checkpoint_seconds": round(CHECKPOINT_BYTES * parameters / CHECKPOINT_SPEED, 1),
    }
    values |= zip(NODE, NODES[options.hardware], strict=True)
    chosen = {name: value for name, value in vars(options).items() if name in field_docstrings(Assumptions)}
    return Assumptions(**values | chosen)


def as_text(report: dict[str, Any]) -> str:
    assumptions = ", ".join(f"{name} {value}" for name, value in report["assumptions"].items())
    titles = ["workers", "update", "speed-up", "efficiency", *LOSSES, "days", "Young", "Daly", "checkpoint every"]
    lines = [*textwrap.wrap(f"{report['recipe']} on {report['hardware']}: {assumptions}", 118), ""]
    lines += [f"| {' | '.join(titles)} |", "|" + "--:|" * len(titles)]
    for row in report["rows"]:
        shares = [f"{row['shares'][name]:.1%}" if row["shares"] else "–" for name in ("useful", *LOSSES)]
        cells = [f"{row['workers']}", f"{row['update_seconds']:.3g} s", f"{row['speed_up']:.1f}", *shares]
        cells += [f"{row['days']:.3g}" if row["days"] else "never"]
        cells += [f"{row[name] / 60:,.1f} min" if row[name] else "–" for name in ("young_seconds", "daly_seconds")]
        lines.append(f"| {' | '.join(cells)} | {row['checkpoint_every']:,} updates |")
    limits = "Fastest number of workers: {fastest}; at most 10 % longer: {enough}; efficiency of 50 %: {half_efficient}"
    return "\n".join([*lines, "", limits.format_map(report)])


if __name__ == "__main__":
    sys.exit(main())
