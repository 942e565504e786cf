"""Training speed of each kind of model, compared with other implementations on the same machine.

    python benchmarks/train_speed.py                      Multi30k, all kinds, all peers: about ten minutes on two cores
    python benchmarks/train_speed.py --json --kinds transformer --seconds 30
    python benchmarks/train_speed.py --record             write the figures to benchmarks/results/training.json
    python benchmarks/train_speed.py --peer-python OTHER/bin/python     Marian from another environment

Task: a Transformer of 3+3 layers, width 256, feed-forward width 1024, 4 heads, 8,000 joint subwords, tied embeddings,
dropout 0.1, label smoothing 0.1, Adam, batches of about 4,096 target tokens, float32; sizes of the other kinds are in
`models`. Each contestant is a process that waits on a pipe while another one works. They take turns, so that a ratio
always compares measurements that are close in time. Figures are medians over the rounds, with the lowest and the
highest of ratios and utilisation.

- tokens/s: target tokens with </s> and without padding, over the time of whole updates, batching included.
- utilisation: FLOP/s of the matrix products of an update (torch's counter, padding included), divided by the peak. The
  peak is measured in the same process just before and after: float32 products, the best of the model's shapes and a
  square.
- padding: share of padding positions on both sides. Peak RSS: maximum memory of the contestant's process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from contestants.task import TINY, Size, Task, write_corpus
from machine import machine
from record import add_options, check_task, record
from rows import train_speed_rows

from tongsa import demo
from tongsa.data.corpus import CorpusError, read_pairs
from tongsa.data.ledger import Ledger
from tongsa.errors import InputError
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

CHILDREN = Path(__file__).parent / "contestants"
MULTI30K = Path(__file__).parent.parent.parent / "shared/data/multi30k"
PEERS = {"plain": "plain.py", "plain_residual": "plain.py", "marian": "marian.py"}
SHARED = "transformer_workers"
"""The same model and update on one process per core: `tongsa train --workers N`."""
KINDS = ("transformer", "rnn_attention", "rnn", "conv_s2s")
MAX_TOKENS = 250
"""Per side; longer pairs are left out."""
Table = dict[str, Any]


def models(size: Size) -> dict[str, Table]:
    """Return the settings of each kind: the task's Transformer, the others at the sizes of their recipes."""
    layers = {"encoder_layers": size.layers, "decoder_layers": size.layers}
    width, half = size.width, size.width // 2
    return {
        "transformer": (
            same := {
                "width": width,
                "ffn_width": size.ffn_width,
                "heads": size.heads,
                **layers,
                "tie_embeddings": "all",
            }
        ),
        SHARED: same,
        "rnn_attention": {"embedding": width, "width": width + half, "maxout_width": width, "tie_embeddings": "target"},
        "rnn": {"embedding": width, "width": 2 * width, "tie_embeddings": "target"},
        "conv_s2s": {
            "width": width,
            "hidden": width,
            "encoder_layers": size.layers + 2,
            "decoder_layers": size.layers + 1,
            "tie_embeddings": "all",
        },
    }


def main() -> int:
    options = parse_options()
    try:
        report = run_benchmark(options)
    except InputError as error:
        print(f"train_speed: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    if options.record:
        record("training", train_speed_rows(report), options.results)
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=KINDS, help="in addition to transformer (default: all)"
    )
    parser.add_argument(
        "--peers", nargs="*", choices=[*PEERS], default=[*PEERS], help="default: all that are installed"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="training time per round (default: 20)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="default: one per core; 1 leaves this contestant out"
    )
    parser.add_argument("--threads", type=int, default=0, help="default: torch's choice")
    parser.add_argument("--data", type=Path, default=MULTI30K, help="folder with train.de.gz and train.en.gz")
    parser.add_argument("--demo-data", action="store_true", help="train on the pairs of tongsa demo")
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter with transformers installed")
    parser.add_argument("--tiny", action="store_true", help="a tiny model, to test this script")
    add_options(parser)
    options = parser.parse_args()
    check_task(parser, options, differs=options.tiny or options.demo_data, task="the full model on Multi30k")
    if options.record and set(options.kinds) not in ({"transformer"}, set(KINDS)):
        parser.error("--record: no table has these kinds. Give --kinds transformer, or leave out --kinds.")
    if options.seconds <= 0 or min(options.rounds, options.workers) < 1 or options.threads < 0:
        parser.error("--seconds must be positive, --rounds and --workers at least 1, --threads not negative")
    return options


def run_benchmark(options: argparse.Namespace) -> Table:
    size = TINY if options.tiny else Size()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        corpus = Path(folder) / "corpus.npz"
        data = prepare_corpus(options, size, corpus)
        print_status(f"data: {data['name']}, {data['pairs']:,} pairs, {data['subwords']:,} subwords")
        contestants: list[Contestant] = []
        for name in names(options):
            settings = models(size).get(name, {}) | {"dropout": Task.dropout}
            kind, workers = ("transformer", options.workers) if name == SHARED else (name, 1)
            task = Task(
                kind=kind, model=settings, size=size, corpus=str(corpus), threads=options.threads, workers=workers
            )
            task.write(Path(folder) / f"{name}.json")
            contestants.append(
                stack.enter_context(start_contestant(name, Path(folder) / f"{name}.json", options.peer_python))
            )
        present = [contestant for contestant in contestants if not contestant.absent]
        for number in range(1, options.rounds + 1):
            for contestant in present:
                contestant.work(options.seconds)
                speed = contestant.rounds[-1]["tokens"] / contestant.rounds[-1]["seconds"]
                print_status(f"round {number}/{options.rounds}  {contestant.name:16} {speed:8,.0f} tokens/s")
    return make_report(contestants, data, options)


def names(options: argparse.Namespace) -> list[str]:
    """Return the contestants in the order of a round; those that are compared are adjacent."""
    others = [kind for kind in KINDS if kind in options.kinds and kind != "transformer"]
    shared = [SHARED] if options.workers > 1 else []
    return ["transformer", *shared, *(peer for peer in PEERS if peer in options.peers), *others]


def prepare_corpus(options: argparse.Namespace, size: Size, path: Path) -> Table:
    """Write the token ids that all contestants train on."""
    if options.demo_data:
        name = "the demo's pairs"
        demo_pairs = demo.read_split("train")[: 2_000 if options.tiny else 20_000]
        sources, targets = [source for source, _ in demo_pairs], [target for _, target in demo_pairs]
    else:
        name, files = "Multi30k", [options.data / f"train.{language}.gz" for language in ("de", "en")]
        if not all(file.is_file() for file in files):
            raise CorpusError(
                f"{options.data}: no train.de.gz and train.en.gz. Name another folder with --data, or use --demo-data."
            )
        pairs = list(read_pairs(files, Ledger(None)))
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenizer = train_tokenizer([*sources, *targets], TokenizerConfig(vocab_size=size.subwords))
    both = zip(tokenizer.encode_all(sources), tokenizer.encode_all(targets), strict=True)
    kept = [(source, target) for source, target in both if max(len(source), len(target)) <= MAX_TOKENS]
    write_corpus(path, [source for source, _ in kept], [target for _, target in kept], len(tokenizer))
    return {"name": name, "pairs": len(kept), "subwords": len(tokenizer)}


@dataclass
class Contestant:
    name: str
    process: "subprocess.Popen[str]"
    absent: str = ""
    """Reason why it is not measured; empty if it is."""
    facts: Table = field(default_factory=dict)
    rounds: list[Table] = field(default_factory=list)

    def work(self, seconds: float) -> None:
        self.process.stdin.write(json.dumps({"seconds": seconds}) + "\n")
        self.process.stdin.flush()
        self.rounds.append(self.answer())

    def answer(self) -> Table:
        line = self.process.stdout.readline()
        if not line:
            raise InputError(f"{self.name}: exit code {self.process.wait()}. Its messages are above.")
        values: Table = json.loads(line)
        return values


@contextmanager
def start_contestant(name: str, task: Path, peer_python: str) -> Iterator[Contestant]:
    """Start a contestant's process and wait until its model is built."""
    python = peer_python if name == "marian" else sys.executable
    # threads spin only briefly before they sleep, the same in all contestants
    environment = {"GOMP_SPINCOUNT": "20000", "HF_HUB_OFFLINE": "1"} | os.environ
    command = [python, str(CHILDREN / PEERS.get(name, "ours.py")), str(task)]
    try:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
        process = subprocess.Popen(command, env=environment, **pipes)
    except OSError as error:
        raise InputError(f"{python}: cannot be started ({error.strerror}). Name a Python interpreter.") from None
    with process:
        try:
            contestant = Contestant(name, process)
            contestant.facts = contestant.answer()
            contestant.absent = contestant.facts.get("absent", "")
            state = (
                f"not measured: {contestant.absent}"
                if contestant.absent
                else f"{contestant.facts['parameters']:,} parameters"
            )
            print_status(f"{name:16} {state}")
            yield contestant
        except BaseException:
            process.kill()
            raise
        finally:
            process.stdin.close()  # ends the process
            process.wait()


def print_status(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def make_report(contestants: list[Contestant], data: Table, options: argparse.Namespace) -> Table:
    present = {contestant.name: contestant for contestant in contestants if not contestant.absent}
    rows = {name: figures(contestant) | ratios(contestant, present) for name, contestant in present.items()}
    return rows["transformer"] | {
        "kinds": {name: row for name, row in rows.items() if name not in PEERS},
        "peers": {name: row for name, row in rows.items() if name in PEERS},
        "absent": {contestant.name: contestant.absent for contestant in contestants if contestant.absent},
        "data": data,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "workers": options.workers,
        "seed": Task.seed,
        "tiny": options.tiny,
        "machine": machine() | {"threads": present["transformer"].facts["threads"]},
    }


def figures(contestant: Contestant) -> Table:
    speeds = [turn["tokens"] / turn["seconds"] for turn in contestant.rounds]
    flops = contestant.facts["flops_per_token"]
    shares = [speed * flops / turn["peak_flops"] for speed, turn in zip(speeds, contestant.rounds, strict=True)]
    return {
        "tokens_per_second": round(median(speeds), 1),
        "tokens_per_second_rounds": [round(speed, 1) for speed in speeds],
        "utilisation": round(median(shares), 4),
        "utilisation_range": [round(min(shares), 4), round(max(shares), 4)],
        "padding": round(median(turn["padding"] for turn in contestant.rounds), 4),
        "peak_rss_mib": round(max(turn["peak_rss_mib"] for turn in contestant.rounds)),
        "tokens_per_update": round(contestant.facts["tokens_per_update"]),
        "mflop_per_token": round(flops / 1e6, 2),
        "gemm_gflops": round(median(turn["peak_flops"] for turn in contestant.rounds) / 1e9, 1),
        "parameters": contestant.facts["parameters"],
    }


def ratios(contestant: Contestant, present: dict[str, Contestant]) -> Table:
    """Return the ratio to each peer, round by round: a slow minute affects both."""
    ratios_to_peers: Table = {}
    for name in PEERS:
        turns = zip(contestant.rounds, present[name].rounds, strict=True) if name in present else ()
        values = [ours["tokens"] / ours["seconds"] * theirs["seconds"] / theirs["tokens"] for ours, theirs in turns]
        ratios_to_peers[f"ratio_to_{name}"] = round(median(values), 3) if values else None
        ratios_to_peers[f"ratio_to_{name}_range"] = [round(min(values), 3), round(max(values), 3)] if values else None
    return ratios_to_peers


def as_text(report: Table) -> str:
    host, data = report["machine"], report["data"]
    lines = [
        f"{data['name']}, {data['pairs']:,} pairs, {data['subwords']:,} subwords; {report['rounds']} rounds of "
        f"{report['seconds']:g} s; {host['cpu']}, {host['threads']} threads of {host['cores']} cores, "
        f"torch {host['torch']}, {host['date']}",
        "",
        "| contestant | tokens/s | × plain | × plain_residual | × Marian | utilisation | padding | peak RSS MiB "
        "| tokens per update | MFLOP per token | products, GFLOP/s | parameters |",
        "|---|" + "--:|" * 11,
    ]
    for name, row in (report["kinds"] | report["peers"]).items():
        times = [ratio_with_range(row, peer) for peer in PEERS]
        low, high = row["utilisation_range"]
        utilisation = f"{row['utilisation']:.0%} ({low:.0%}–{high:.0%})"
        cells = [name, f"{row['tokens_per_second']:,.0f}", *times, utilisation, f"{row['padding']:.1%}"]
        keys = ("peak_rss_mib", "tokens_per_update", "mflop_per_token", "gemm_gflops", "parameters")
        lines.append(f"| {' | '.join([*cells, *(f'{row[key]:,}' for key in keys)])} |")
    lines += [f"{name}: {reason}" for name, reason in report["absent"].items()]
    return "\n".join(lines)


def ratio_with_range(row: Table, peer: str) -> str:
    if row[f"ratio_to_{peer}"] is None:
        return "–"
    low, high = row[f"ratio_to_{peer}_range"]
    return f"{row[f'ratio_to_{peer}']:.2f} ({low:.2f}–{high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
