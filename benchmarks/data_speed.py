"""Preparation of training data: seconds per stage, SentencePiece's share, memory, time to the first step.

python benchmarks/data_speed.py                         5 million generated pairs
python benchmarks/data_speed.py --pairs 200000          a short run
python benchmarks/data_speed.py --data pairs.tsv --columns 2 3

Stages are measured in CPU seconds of this process and in seconds of the clock, which are noise on a shared machine.
SentencePiece's own time is the training of the tokenizer, and the CPU time of encoding a sample of the texts with one
thread, scaled to all texts. The first step is that of a new process that finds the data prepared.

Memory is the resident memory of the process in MiB: the peak of all of it, as the system keeps it, and the peaks of its
anonymous memory (arrays and objects) and of its file pages (libraries and memory maps), sampled every 5 ms.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tongsa import config, system
from tongsa.data.ledger import Ledger
from tongsa.runs import tokenizers
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import PreparedData, prepare_data
from tongsa.runs.dev_split import DEV_SPLIT_SEED, MAX_DEV_PAIRS, train_dev_split
from tongsa.runs.epoch_examples import EpochExamples
from tongsa.runs.preparation import Preparation
from tongsa.runs.recipe import Recipe, parse_recipe
from tongsa.runs.reporting import ProgressDisplay
from tongsa.runs.run import create_run
from tongsa.training.data_loader import iterate_batches
from tongsa.training.journal import read_journal
from tongsa.training.loop import DataPosition

WORDS, MEAN_WORDS = 200_000, 24
"""Vocabulary and sentence length of generated text: about those of news."""
SAMPLED_TEXTS = 20_000
WAITED_BATCHES, UPDATE_SECONDS = 100, 0.1
"""Batches that a training of this speed asks for; a small Transformer on two cores is slower."""
SAMPLE_SECONDS = 0.005
MODEL = {"kind": "transformer", "width": 64, "ffn_width": 128, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}


class ResidentMemory:
    """Peaks of the resident memory of a process, in MiB: all of it, anonymous memory, file pages."""

    def __init__(self, pid: int | str = "self") -> None:
        self.statm = Path(f"/proc/{pid}/statm")
        self.total = self.anonymous = self.file = 0.0

    def sample(self) -> None:
        resident, file = map(int, self.statm.read_text("ascii").split()[1:3])
        pages = resident, resident - file, file
        mib = [count * os.sysconf("SC_PAGE_SIZE") / 2**20 for count in pages]
        self.total, self.anonymous, self.file = map(max, zip((self.total, self.anonymous, self.file), mib, strict=True))

    @contextmanager
    def watch(self) -> Iterator[None]:
        is_over = threading.Event()

        def sample_until_over() -> None:
            while not is_over.wait(SAMPLE_SECONDS):
                self.sample()

        thread = threading.Thread(target=sample_until_over)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def figures(self, name: str) -> dict[str, float]:
        return {f"{name}_peak_anonymous_mib": self.anonymous, f"{name}_peak_file_pages_mib": self.file}


class Stages:
    """CPU seconds, seconds of the clock and peaks of the memory of each stage."""

    def __init__(self) -> None:
        self.cpu: dict[str, float] = {}
        self.clock: dict[str, float] = {}
        self.memory: dict[str, ResidentMemory] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        cpu, clock, memory = time.process_time(), time.perf_counter(), ResidentMemory()
        with memory.watch():
            yield
        self.cpu[name] = time.process_time() - cpu
        self.clock[name] = time.perf_counter() - clock
        self.memory[name] = memory


def generate_pairs(path: Path, count: int) -> None:
    """Write pairs of random words with Zipf's frequencies; the target has the words of the source in reverse."""
    generator = np.random.default_rng(1)
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz"])
    lengths = generator.integers(2, 11, WORDS)
    words = np.array(["".join(generator.choice(letters, length)) for length in lengths], dtype=object)
    probabilities = 1 / np.arange(1, WORDS + 1)
    cumulative = np.cumsum(probabilities / probabilities.sum())
    with path.open("w", encoding="utf-8") as file:
        for _ in range(0, count, 10_000):
            sizes = 1 + generator.poisson(MEAN_WORDS - 1, min(10_000, count))
            drawn = words[np.minimum(np.searchsorted(cumulative, generator.random(sizes.sum())), WORDS - 1)]
            for sentence in np.split(drawn, np.cumsum(sizes)[:-1]):
                file.write(f"{' '.join(sentence)}\t{' '.join(sentence[::-1])}\n")


def prepare(recipe: Recipe, run: Path, cache: Path, stages: Stages) -> PreparedData:
    """Prepare the data stage by stage, as `prepare_data` does in one call."""
    display = ProgressDisplay()
    reader = CorpusReader(Preparation(cache, display))
    with stages.measure("read"):
        pairs = reader.read(recipe.data, "seq2seq", recipe.data.train, Ledger(None))
    with stages.measure("split"):
        split = recipe.data.dev_fraction, DEV_SPLIT_SEED, MAX_DEV_PAIRS["seq2seq"]
        train, _ = train_dev_split(pairs, *split, reader.preparation)
    original = tokenizers.train_tokenizer

    def timed_training(*arguments: Any) -> Any:
        with stages.measure("train the tokenizer"):
            return original(*arguments)

    tokenizers.train_tokenizer = timed_training
    with stages.measure("sample texts and train the tokenizer"):
        tokenizers.build_tokenizers(train, recipe, None, run, reader.preparation)
    with stages.measure("encode and write"):
        data = prepare_data(recipe, run, reader=reader)
    with stages.measure("profile"):
        create_run(run, recipe, data)
    return data


def sentencepiece_seconds(data: PreparedData, stages: Stages) -> float:
    """Return the CPU time that SentencePiece itself needs: training, and encoding all texts with one thread."""
    processor, seconds = data.source_tokenizer._processor, stages.cpu["train the tokenizer"]
    for texts in (data.train.sources, data.train.targets):
        sample = texts[:: -(-len(texts) // SAMPLED_TEXTS)]
        processor.encode(sample[:1000], num_threads=1)
        started_at = time.process_time()
        processor.encode(sample, num_threads=1)
        seconds += (time.process_time() - started_at) * len(texts) / len(sample)
    return seconds


def waiting_times(data: PreparedData, recipe: Recipe) -> tuple[float, list[float]]:
    """Return the seconds until the first batch, and those that a training waits for each of the next ones."""
    batches = iterate_batches(EpochExamples(data, recipe), batch_tokens=4096, seed=1, start=DataPosition())
    started_at = time.perf_counter()
    next(batches)
    first, waits = time.perf_counter() - started_at, []
    for _ in range(WAITED_BATCHES):
        time.sleep(UPDATE_SECONDS)
        started_at = time.perf_counter()
        next(batches)
        waits.append(time.perf_counter() - started_at)
    return first, waits


def first_step(recipe_file: Path, run: Path) -> dict[str, float]:
    """Return the seconds until the first update of a new process, and its peak memory then, in MiB."""
    started_at = time.perf_counter()
    command = [sys.executable, "-m", "tongsa.cli", "train", str(recipe_file), "--run", str(run)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    memory = ResidentMemory(process.pid)
    try:
        while not (run / "journal.jsonl").exists() or not read_journal(run / "journal.jsonl"):
            if process.poll() is not None:
                sys.exit(f"the training has failed: {' '.join(command)}")
            memory.sample()
            time.sleep(SAMPLE_SECONDS)
        seconds = time.perf_counter() - started_at
        status = Path(f"/proc/{process.pid}/status").read_text("utf-8").splitlines()
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        ticks = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]  # user, system
        cpu = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    finally:
        process.kill()
        process.wait()
    times = {"first_step_seconds": seconds, "first_step_cpu_seconds": cpu}
    return {**times, "first_step_peak_mib": peak / 1024, **memory.figures("first_step")}


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    if options.data is None:
        options.data = folder / "pairs.tsv"
        generate_pairs(options.data, options.pairs)
    cache, recipe_file = options.cache or folder / "cache", folder / "recipe.toml"
    data = {"train": [str(options.data)], "columns": options.columns, "cache": str(cache)}
    data |= {"source_language": "en", "target_language": "en"}
    tokenizer = {"vocab_size": options.vocab_size, "training_texts": options.training_texts}
    training = {"steps": 1_000_000, "batch_tokens": 1024, "precision": "fp32", "device": "cpu"}
    recipe = parse_recipe({"data": data, "tokenizer": tokenizer, "model": MODEL, "training": training})
    recipe_file.write_text(config.dump_toml(recipe.to_table()), encoding="utf-8")
    stages = Stages()
    system.reset_peak_memory()
    preparation, batches = ResidentMemory(), ResidentMemory()
    with preparation.watch():
        prepared = prepare(recipe, folder / "prepared", cache, stages)
    training_stage = stages.cpu["train the tokenizer"]
    total = sum(stages.cpu.values()) - training_stage  # it is a part of the stage with its name
    peak = (system.peak_memory() or 0) / 2**20
    system.reset_peak_memory()
    with batches.watch():
        first_batch, waits = waiting_times(prepared, recipe)
    batches_peak = (system.peak_memory() or 0) / 2**20
    return {
        "pairs": len(prepared.train),
        "data_mib": Path(options.data).stat().st_size / 2**20,
        "cpu_seconds": stages.cpu,
        "clock_seconds": stages.clock,
        "preparation_cpu_seconds": total,
        "sentencepiece_share": sentencepiece_seconds(prepared, stages) / total,
        "stage_memory": {name: memory.figures("stage") for name, memory in stages.memory.items()},
        "preparation_peak_mib": peak,
        **preparation.figures("preparation"),
        "first_batch_seconds": first_batch,
        "median_wait_ms": 1e3 * float(np.median(waits)),
        "max_wait_ms": 1e3 * max(waits),
        "batches_peak_mib": batches_peak,
        **batches.figures("batches"),
        **first_step(recipe_file, folder / "run"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5_000_000, help="number of generated pairs")
    parser.add_argument("--data", type=Path, help="a file of pairs instead of generated ones")
    parser.add_argument("--columns", type=int, nargs=2, default=[1, 2], help="columns of --data")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--training-texts", type=int, default=1_000_000, help="texts that the tokenizer is trained on")
    parser.add_argument("--cache", type=Path, help="folder of prepared data; default: a temporary one")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options, Path(folder))
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for name, seconds in figures["cpu_seconds"].items():
        memory = figures["stage_memory"][name]
        print(
            f"{name}: {seconds:.1f} s CPU, {figures['clock_seconds'][name]:.1f} s clock, "
            f"{memory['stage_peak_anonymous_mib']:,.0f} MiB anonymous, "
            f"{memory['stage_peak_file_pages_mib']:,.0f} MiB file pages"
        )
    for name, value in figures.items():
        if not isinstance(value, dict):
            print(f"{name}: {value:,.2f}" if isinstance(value, float) else f"{name}: {value:,}")


if __name__ == "__main__":
    main()
