"""Training costs, time and money, of the models of Vaswani et al. (2017) on given hardware.

    python benchmarks/cost.py                                   check the paper's figures, then all hardware below
    python benchmarks/cost.py --hardware A100:1 H100:8          one A100; eight H100s
    python benchmarks/cost.py --price A100=1.85 --utilisation A100=0.4 --json

Step time = FLOPs per step / (devices · peak · utilisation). A matrix costs 6 FLOPs per weight and token: 2 forward, 4
backward. Padding, softmax, norms, dropout, the optimizer and communication are not counted: they are the reason why
utilisation is below 1 and why twice the devices are not twice as fast.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tongsa.models.transformer.seq2seq import BASE, BIG, TransformerConfig

VOCAB_SIZE = 37_000
"""Joint vocabulary of English–German (section 5.1)."""
TOKENS = 25_000
"""Tokens on each side of a batch (section 5.1)."""
LENGTH = 27
"""Tokens per sentence; assumed, with little effect: attention between positions is 1 % of a step."""
HOUR, DAY = 3600, 86_400


@dataclass(frozen=True)
class Paper:
    """A model of the paper and its reported training time (sections 5.2 and 6.1, table 2)."""

    config: TransformerConfig
    steps: int
    step_seconds: float
    seconds: float
    flops: float
    """Table 2: time × devices × 9.5 TFLOP/s, the capacity of the devices, not the FLOPs that the model needs."""


MODELS = {
    "base": Paper(BASE, 100_000, 0.4, 12 * HOUR, 3.3e18),
    "big": Paper(BIG, 300_000, 1.0, 3.5 * DAY, 2.3e19),
}


@dataclass(frozen=True)
class Hardware:
    count: int
    peak: float
    """FLOP/s of one device in this precision."""
    precision: str
    utilisation: float
    """Share of the peak in a whole update."""
    price: float
    """USD per device and hour: a placeholder."""
    known: str
    """Source of peak and utilisation."""


SHEET = "peak: data sheet, dense; utilisation: assumed"


def flops(config: TransformerConfig, vocab_size: int, tokens: int, length: int) -> float:
    """Return the FLOPs of one update with `tokens` tokens on each side."""
    width, ffn_width = config.width, config.ffn_width
    square, network = width * width, 2 * width * ffn_width
    for_source = config.encoder_layers * (4 * square + network)  # query, key, value and output projections; equation 2
    for_source += config.decoder_layers * 2 * square  # keys and values of the memory
    for_target = config.decoder_layers * (
        6 * square + network
    )  # self-attention; query and output projections of cross-attention
    for_target += width * vocab_size  # output projection; an embedding look-up is not a product
    pairs = (config.encoder_layers + 2 * config.decoder_layers) * 2 * width * length  # q·k, and the weights times V
    return 6.0 * tokens * (for_source + for_target + pairs)


def step_flops(model: Paper) -> float:
    return flops(model.config, VOCAB_SIZE, TOKENS, LENGTH)


def seconds(work: float, hardware: Hardware) -> float:
    return work / (hardware.count * hardware.peak * hardware.utilisation)


PEAK_P100, PAPER_COUNT = 9.5e12, 8
"""FLOP/s of a P100 in single precision, as assumed in footnote 5, and the number of P100s."""


def implied_utilisation(model: Paper) -> float:
    """Return the utilisation that gives the paper's step time on the paper's machine."""
    return step_flops(model) / (PAPER_COUNT * PEAK_P100 * model.step_seconds)


def calibrated_utilisation() -> float:
    """Return one utilisation for both models: the geometric mean of the implied ones."""
    return math.prod(map(implied_utilisation, MODELS.values())) ** (1 / len(MODELS))


def measured_cpu() -> Hardware:
    """Return the CPU of the training benchmark: the speed of matrix products alone, and its share in whole updates."""
    path = Path(__file__).parent / "results/training.json"
    rows = json.loads(path.read_text("utf-8"))["rows"]
    details = next(row["details"] for row in rows if row["id"] == "transformer-tongsa-transformer")
    peak, utilisation = details["GEMM GFLOP/s"] * 1e9, details["utilisation, %"] / 100
    known = "two cores; peak: matrix products; utilisation: 3+3 layers of width 256; both measured (training.json)"
    return Hardware(1, peak, "fp32", utilisation, 0.01, known)


HARDWARE = {
    "P100": Hardware(
        PAPER_COUNT, PEAK_P100, "fp32", calibrated_utilisation(), 1.0, "peak: the paper; utilisation: calibrated on it"
    ),
    "V100": Hardware(1, 125e12, "fp16", 0.3, 1.0, SHEET),
    "A100": Hardware(1, 312e12, "bf16", 0.3, 2.0, SHEET),
    "H100": Hardware(1, 989e12, "bf16", 0.2, 4.0, SHEET),
    "EPYC": measured_cpu(),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_options(arguments)
    report = {"paper": {name: check_paper(model) for name, model in MODELS.items()}, "costs": costs(options.machines)}
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    return 0


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ", ".join(HARDWARE)
    parser.add_argument("--hardware", nargs="+", default=[*HARDWARE], metavar="NAME[:COUNT]", help=f"of {known}")
    parser.add_argument("--price", action="append", default=[], metavar="NAME=USD", help="per device and hour")
    parser.add_argument(
        "--utilisation", action="append", default=[], metavar="NAME=SHARE", help="instead of the assumed one"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        options.machines = choose_hardware(options.hardware, options.price, options.utilisation)
    except ValueError as error:
        parser.error(str(error))
    return options


def choose_hardware(names: list[str], prices: list[str], utilisations: list[str]) -> dict[str, Hardware]:
    """Return the named hardware, with the user's prices and utilisations."""
    table = dict(HARDWARE)
    for field, texts, maximum in (("price", prices, math.inf), ("utilisation", utilisations, 1.0)):
        for text in texts:
            name, value = _parse_assignment(text, field)
            if not 0 <= value <= maximum or (field == "utilisation" and value == 0):
                raise ValueError(
                    f"--{field} {text}: out of range. Give a utilisation in (0, 1], a price of at least 0."
                )
            table[name] = replace(table[name], **{field: value})
    machines: dict[str, Hardware] = {}
    for text in names:
        name, _, count = text.partition(":")
        if name not in table or (":" in text and not (count.isascii() and count.isdigit() and int(count))):
            raise ValueError(f"--hardware {text}: write NAME or NAME:COUNT, with a name of {', '.join(HARDWARE)}")
        machines[text] = replace(table[name], count=int(count)) if count else table[name]
    return machines


def _parse_assignment(text: str, field: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if name not in HARDWARE or not math.isfinite(number):
        raise ValueError(f"--{field} {text}: write NAME=NUMBER, with a name of {', '.join(HARDWARE)}")
    return name, number


def check_paper(model: Paper) -> dict[str, float]:
    """Return the figures of the cost model and of the paper, for the paper's machine."""
    machine, work = HARDWARE["P100"], step_flops(model)
    return {
        "step_flops": work,
        "run_flops": work * model.steps,
        "paper_step_seconds": model.step_seconds,
        "raw_step_seconds": seconds(work, replace(machine, utilisation=1.0)),
        "calibrated_step_seconds": seconds(work, machine),
        "implied_utilisation": implied_utilisation(model),
        "calibrated_utilisation": machine.utilisation,
        "paper_table_2_flops": model.flops,
        "table_2_flops": model.seconds * PAPER_COUNT * PEAK_P100,
    }


def costs(hardware: dict[str, Hardware]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, machine in hardware.items():
        for size, model in MODELS.items():
            step = seconds(step_flops(model), machine)
            hours = step * model.steps / HOUR
            usd = hours * machine.count * machine.price
            figures = {"step_seconds": step, "hours": hours, "device_hours": hours * machine.count, "usd": usd}
            rows.append({"hardware": name, "model": size, "steps": model.steps} | asdict(machine) | figures)
    return rows


def as_text(report: dict[str, Any]) -> str:
    lines = [
        "| model | FLOPs of a step | step, paper | step, at the peak | step, calibrated | utilisation implied "
        "| table 2 | time × 8 × 9.5 TFLOP/s |",
        "|---|" + "--:|" * 7,
    ]
    for name, row in report["paper"].items():
        times = [f"{row[f'{kind}_step_seconds']:.2f} s" for kind in ("paper", "raw", "calibrated")]
        table = [f"{row['paper_table_2_flops']:.1e}", f"{row['table_2_flops']:.2e}"]
        cells = [name, f"{row['step_flops']:.2e}", *times, f"{row['implied_utilisation']:.0%}", *table]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| hardware | model | devices | precision | TFLOP/s each | utilisation | step | run | USD an hour each | USD |",
        "|---|---|" + "--:|" * 8,
    ]
    for row in report["costs"]:
        cells = [row["hardware"], row["model"], f"{row['count']}", row["precision"], f"{row['peak'] / 1e12:g}"]
        cells += [f"{row['utilisation']:.0%}", _step(row["step_seconds"]), _time(row["hours"])]
        cells += [f"{row['price']:g}", f"{row['usd']:,.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    sources = {row["hardware"]: row["known"] for row in report["costs"]}
    lines += ["", *(f"{name}: {known}" for name, known in sources.items())]
    lines.append("USD an hour: assumed, look up yours (--price NAME=USD)")
    return "\n".join(lines)


def _step(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


def _time(hours: float) -> str:
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:,.1f} d"


if __name__ == "__main__":
    sys.exit(main())
