"""The losses of one run on 1, 2 and 4 workers, side by side: the number of workers changes nothing but the time.

    python benchmarks/workers.py            some two minutes on two cores, whatever else they do

Each is a run of its own from the same seed: `tongsa train --workers N` on 3,000 of the demo's pairs, a small
Transformer with dropout and Muon, four batches an update.
Sums in another order round otherwise: that is the only difference.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import machine

from tongsa import demo

COUNTS = (1, 2, 4)
SETTINGS = (
    "data.dev_fraction=0.05",
    "tokenizer.vocab_size=1200",
    "model.width=64",
    "model.ffn_width=128",
    "model.dropout=0.1",
    "training.grad_accumulation=4",
    "training.batch_tokens=256",
    "training.optimizer=muon",
    "training.validate_every=1000",
    "training.checkpoint_every=1000",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60, help="updates of each run (default: 60)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [f"{source}\t{target}\n" for source, target in demo.read_split("train")[:3_000]]
        (folder / "pairs.tsv").write_text("".join(lines), "utf-8")
        runs = {
            (count, shard): losses(folder, count, shard, options.steps)
            for count in COUNTS
            for shard in (False, True)
            if count > 1 or not shard
        }
    print(as_text(runs, options.steps))
    return 0


def losses(folder: Path, count: int, shard: bool, steps: int) -> list[float]:
    """Of every update of a run on so many workers."""
    run = folder / f"{count}-{shard}"
    settings = [*SETTINGS, f"training.steps={steps}", f"training.shard={str(shard).lower()}"]
    command = [sys.executable, "-m", "tongsa.cli", "train", "--data", "pairs.tsv", "--run", run.name]
    command += [word for setting in settings for word in ("--set", setting)] + ["--workers", str(count)]
    subprocess.run(command, cwd=folder, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    records = map(json.loads, (run / "journal.jsonl").read_text("utf-8").splitlines())
    return [record["loss"] for record in records if "loss" in record]


def as_text(runs: dict[tuple[int, bool], list[float]], steps: int) -> str:
    host, alone = machine(), runs[1, False]
    names = [f"{count} worker{'s' * (count > 1)}{', sharded' * shard}" for count, shard in runs]
    lines = [
        f"{host['cpu']}, torch {host['torch']}, {host['date']}",
        "",
        f"| update | {' | '.join(names)} |",
        "|--:|" + "--:|" * len(runs),
    ]
    chosen = sorted({1, 2, 5, 10, 20, 30, 40, 50, steps} & set(range(1, steps + 1)))
    lines += [f"| {step} | {' | '.join(f'{run[step - 1]:.6f}' for run in runs.values())} |" for step in chosen]
    differences = [max(abs(a - b) for a, b in zip(run, alone, strict=True)) for run in runs.values()]
    lines.append(f"| largest difference | {' | '.join(f'{value:.1e}' for value in differences)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
