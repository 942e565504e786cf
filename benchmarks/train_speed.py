"""How fast each kind learns, beside what others would use on the same machine in the same minutes.

    python benchmarks/train_speed.py                      Multi30k, every kind, all peers: some ten minutes on two cores
    python benchmarks/train_speed.py --json --kinds transformer --seconds 30
    python benchmarks/train_speed.py --peer-python OTHER/bin/python     Marian from another environment

Task: a Transformer of 3+3 layers, width 256, inner 1024, 4 heads, 8,000 joint pieces, tied embeddings, dropout 0.1,
smoothing 0.1, Adam, batches of about 4,096 target tokens, float32; the other kinds at the sizes of `models`. Each
contestant lives in a process of its own and sleeps on a pipe while another works; they take turns, round by round, so
that a ratio is always between neighbours in time. Figures are medians over the rounds.

- tokens/s: target tokens, </s> included and padding not, over the time of whole updates, making the batches included.
- utilisation: FLOP of the matrix products of an update (torch's counter; those on padding count too) a second, over
  what float32 products alone do in the same process just before and after: the best of the model's shapes and a square.
- padding: share of the places of both sides that held nothing. Peak RSS: the most that the contestant's process held.
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

from tongsa import demo
from tongsa.data.corpus import CorpusError, read_pairs
from tongsa.data.ledger import Ledger
from tongsa.errors import InputError
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

CHILDREN = Path(__file__).parent / "contestants"
MULTI30K = Path(__file__).parent.parent.parent / "shared/data/multi30k"
PEERS = {"plain": "plain.py", "plain_residual": "plain.py", "marian": "marian.py"}
SHARED = "transformer_workers"
"""The same model and update, shared among one process for each core: `tongsa train --workers N`."""
KINDS = ("transformer", "rnn_attention", "rnn", "conv_s2s")
LONGEST = 250
"""Pieces on a side; longer pairs are left out."""
Table = dict[str, Any]


def models(size: Size) -> dict[str, Table]:
    """The task's Transformer, and the other kinds at the sizes of their recipes for the same data."""
    layers = {"encoder_layers": size.layers, "decoder_layers": size.layers}
    width, half = size.width, size.width // 2
    return {
        "transformer": (same := {"width": width, "inner": size.inner, "heads": size.heads, **layers, "share": "all"}),
        SHARED: same,
        "rnn_attention": {"embedding": width, "width": width + half, "readout": width, "share": "target"},
        "rnn": {"embedding": width, "width": 2 * width, "share": "target"},
        "conv_s2s": {
            "width": width,
            "hidden": width,
            "encoder_layers": size.layers + 2,
            "decoder_layers": size.layers + 1,
            "share": "all",
        },
    }


def main() -> int:
    options = parsed()
    try:
        report = measured(options)
    except InputError as error:
        print(f"train_speed: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="beside the transformer, always there")
    parser.add_argument(
        "--peers", nargs="*", choices=[*PEERS], default=[*PEERS], help="default: all that are installed"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of training in a round (default: 20)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="default: one a core; 1 leaves them out")
    parser.add_argument("--threads", type=int, default=0, help="default: torch's choice")
    parser.add_argument("--data", type=Path, default=MULTI30K, help="folder with train.de.gz and train.en.gz")
    parser.add_argument("--phrasebook", action="store_true", help="learn the demo's pairs instead")
    parser.add_argument("--peer-python", default=sys.executable, help="the interpreter that has transformers")
    parser.add_argument("--tiny", action="store_true", help="a model that says nothing: to test this script")
    options = parser.parse_args()
    if options.seconds <= 0 or min(options.rounds, options.workers) < 1 or options.threads < 0:
        parser.error("--seconds is positive, --rounds and --workers at least 1, --threads not negative")
    return options


def measured(options: argparse.Namespace) -> Table:
    size = TINY if options.tiny else Size()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        corpus = Path(folder) / "corpus.npz"
        data = prepared(options, size, corpus)
        say(f"data: {data['name']}, {data['pairs']:,} pairs, {data['pieces']:,} pieces")
        contestants: list[Contestant] = []
        for name in names(options):
            settings = models(size).get(name, {}) | {"dropout": Task.dropout}
            kind, workers = ("transformer", options.workers) if name == SHARED else (name, 1)
            task = Task(
                kind=kind, model=settings, size=size, corpus=str(corpus), threads=options.threads, workers=workers
            )
            task.write(Path(folder) / f"{name}.json")
            contestants.append(stack.enter_context(started(name, Path(folder) / f"{name}.json", options.peer_python)))
        present = [one for one in contestants if not one.absent]
        for number in range(1, options.rounds + 1):
            for one in present:
                one.work(options.seconds)
                speed = one.rounds[-1]["tokens"] / one.rounds[-1]["seconds"]
                say(f"round {number}/{options.rounds}  {one.name:16} {speed:8,.0f} tokens/s")
    return reported(contestants, data, options)


def names(options: argparse.Namespace) -> list[str]:
    """In the order of a round: those that are compared stand side by side."""
    others = [kind for kind in KINDS if kind in options.kinds and kind != "transformer"]
    shared = [SHARED] if options.workers > 1 else []
    return ["transformer", *shared, *(peer for peer in PEERS if peer in options.peers), *others]


def prepared(options: argparse.Namespace, size: Size, path: Path) -> Table:
    """Pieces are tongsa's, and the same indices are for all."""
    if options.phrasebook:
        name = "the demo's pairs"
        pairs_shipped = demo.read_split("train")[: 2_000 if options.tiny else 20_000]
        sources, targets = [source for source, _ in pairs_shipped], [target for _, target in pairs_shipped]
    else:
        name, files = "Multi30k", [options.data / f"train.{language}.gz" for language in ("de", "en")]
        if not all(file.is_file() for file in files):
            raise CorpusError(
                f"{options.data}: no train.de.gz and train.en.gz here; name a --data, or take --phrasebook"
            )
        pairs = list(read_pairs(files, Ledger(None)))
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    pieces = train_tokenizer([*sources, *targets], TokenizerConfig(vocab_size=size.pieces))
    both = zip(pieces.encode_all(sources), pieces.encode_all(targets), strict=True)
    kept = [(source, target) for source, target in both if max(len(source), len(target)) <= LONGEST]
    write_corpus(path, [source for source, _ in kept], [target for _, target in kept], len(pieces))
    return {"name": name, "pairs": len(kept), "pieces": len(pieces)}


@dataclass
class Contestant:
    name: str
    process: "subprocess.Popen[str]"
    absent: str = ""
    """Why it takes no part."""
    facts: Table = field(default_factory=dict)
    rounds: list[Table] = field(default_factory=list)

    def work(self, seconds: float) -> None:
        self.process.stdin.write(json.dumps({"seconds": seconds}) + "\n")
        self.process.stdin.flush()
        self.rounds.append(self.answer())

    def answer(self) -> Table:
        line = self.process.stdout.readline()
        if not line:
            raise InputError(f"{self.name}: died with code {self.process.wait()}; its last words are above")
        values: Table = json.loads(line)
        return values


@contextmanager
def started(name: str, task: Path, peer_python: str) -> Iterator[Contestant]:
    """A child that has built its model, counted its products and fallen asleep."""
    python = peer_python if name == "marian" else sys.executable
    # after a product a thread spins only briefly before it sleeps, in all alike
    environment = {"GOMP_SPINCOUNT": "20000", "HF_HUB_OFFLINE": "1"} | os.environ
    command = [python, str(CHILDREN / PEERS.get(name, "ours.py")), str(task)]
    try:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
        process = subprocess.Popen(command, env=environment, **pipes)
    except OSError as error:
        raise InputError(f"{python}: cannot be started ({error.strerror}); name an interpreter") from None
    with process:
        try:
            one = Contestant(name, process)
            one.facts = one.answer()
            one.absent = one.facts.get("absent", "")
            state = f"takes no part: {one.absent}" if one.absent else f"{one.facts['parameters']:,} parameters"
            say(f"{name:16} {state}")
            yield one
        except BaseException:
            process.kill()
            raise
        finally:
            process.stdin.close()  # the end of its work
            process.wait()


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def reported(contestants: list[Contestant], data: Table, options: argparse.Namespace) -> Table:
    present = {one.name: one for one in contestants if not one.absent}
    rows = {name: figures(one) | ratios(one, present) for name, one in present.items()}
    return rows["transformer"] | {
        "kinds": {name: row for name, row in rows.items() if name not in PEERS},
        "peers": {name: row for name, row in rows.items() if name in PEERS},
        "absent": {one.name: one.absent for one in contestants if one.absent},
        "data": data,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "tiny": options.tiny,
        "machine": machine() | {"threads": present["transformer"].facts["threads"]},
    }


def figures(one: Contestant) -> Table:
    speeds = [turn["tokens"] / turn["seconds"] for turn in one.rounds]
    flops = one.facts["flops_per_token"]
    shares = [speed * flops / turn["peak_flops"] for speed, turn in zip(speeds, one.rounds, strict=True)]
    return {
        "tokens_per_second": round(median(speeds), 1),
        "tokens_per_second_rounds": [round(speed, 1) for speed in speeds],
        "utilisation": round(median(shares), 4),
        "padding": round(median(turn["padding"] for turn in one.rounds), 4),
        "peak_rss_mib": round(max(turn["peak_rss_mib"] for turn in one.rounds)),
        "tokens_per_update": round(one.facts["tokens_per_update"]),
        "mflop_per_token": round(flops / 1e6, 2),
        "gemm_gflops": round(median(turn["peak_flops"] for turn in one.rounds) / 1e9, 1),
        "parameters": one.facts["parameters"],
    }


def ratios(one: Contestant, present: dict[str, Contestant]) -> Table:
    """To each peer, round by round: a slow minute hits both."""
    found: Table = {}
    for name in PEERS:
        turns = zip(one.rounds, present[name].rounds, strict=True) if name in present else ()
        each = [ours["tokens"] / ours["seconds"] * theirs["seconds"] / theirs["tokens"] for ours, theirs in turns]
        found[f"ratio_to_{name}"] = round(median(each), 3) if each else None
        found[f"ratio_to_{name}_range"] = [round(min(each), 3), round(max(each), 3)] if each else None
    return found


def as_text(report: Table) -> str:
    host, data = report["machine"], report["data"]
    lines = [
        f"{data['name']}, {data['pairs']:,} pairs, {data['pieces']:,} pieces; {report['rounds']} rounds of "
        f"{report['seconds']:g} s; {host['cpu']}, {host['threads']} threads of {host['cores']} cores, "
        f"torch {host['torch']}, {host['date']}",
        "",
        "| contestant | tokens/s | × plain | × plain_residual | × Marian | utilisation | padding | peak RSS MiB "
        "| tokens an update | MFLOP a token | products, GFLOP/s | parameters |",
        "|---|" + "--:|" * 11,
    ]
    for name, row in (report["kinds"] | report["peers"]).items():
        times = [f"{row[f'ratio_to_{peer}']:.2f}" if row[f"ratio_to_{peer}"] else "–" for peer in PEERS]
        cells = [name, f"{row['tokens_per_second']:,.0f}", *times, f"{row['utilisation']:.0%}", f"{row['padding']:.1%}"]
        keys = ("peak_rss_mib", "tokens_per_update", "mflop_per_token", "gemm_gflops", "parameters")
        lines.append(f"| {' | '.join([*cells, *(f'{row[key]:,}' for key in keys)])} |")
    lines += [f"{name}: {reason}" for name, reason in report["absent"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
