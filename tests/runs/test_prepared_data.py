"""Prepared data: the same batches as without them, after crashes too, and shared by processes."""

import os
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest
import torch

from processes import ENVIRONMENT
from tiny import reversing, write_pairs
from tongsa.batch import Batch, Examples, Ragged
from tongsa.data.corpus import read_pairs, read_texts
from tongsa.data.ledger import Ledger
from tongsa.runs import tokenized_pairs
from tongsa.runs.data import PreparedData, prepare_data
from tongsa.runs.epoch_examples import EpochExamples
from tongsa.runs.recipe import Recipe, parse_recipe
from tongsa.training.data_loader import iterate_batches
from tongsa.training.loop import DataPosition

KINDS = {"seq2seq": "transformer", "language_model": "rnn_lm", "classification": "transformer_classifier"}


def write_corpus(folder: Path, task: str, count: int) -> Path:
    if task == "language_model":
        path = folder / "texts.txt"
        path.write_text("\n".join(source for source, _ in reversing(count)) + "\n\n", encoding="utf-8")
        return path
    pairs = [(source, source[0] if task == "classification" else target) for source, target in reversing(count)]
    path = Path(write_pairs(folder / "pairs.tsv", pairs))
    with path.open("a", encoding="utf-8") as file:
        file.write("no tab\n" + "a b " * 30 + "\ta\n")  # too long
    return path


def make_recipe(train: Path, task: str = "seq2seq", cache: Path | None = None, **tokenizer: object) -> Recipe:
    data = {"train": [str(train)], "max_tokens": 40, "cache": str(cache) if cache else ""}
    settings = {"vocab_size": 320, **tokenizer}
    return parse_recipe({"data": data, "model": {"kind": KINDS[task]}, "tokenizer": settings})


def first_batches(data: PreparedData, recipe: Recipe, count: int = 12) -> list[Batch]:
    examples = EpochExamples(data, recipe)
    batches = iterate_batches(examples, batch_tokens=64, seed=3, start=DataPosition())
    return [batch for _, batch in islice(batches, count)]


def assert_equal_batches(first: list[Batch], second: list[Batch]) -> None:
    for ours, theirs in zip(first, second, strict=True):
        for side, other in zip(ours, theirs, strict=True):
            assert torch.equal(side.tokens, other.tokens) and side.tokens.dtype == other.tokens.dtype
            assert torch.equal(side.lengths, other.lengths)


@pytest.mark.parametrize("task", KINDS)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_batches_from_memory_maps_equal_those_of_lists_of_pairs(
    task: str, alpha: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenized_pairs, "ENCODED_BLOCK_PAIRS", 16)
    corpus = write_corpus(tmp_path, task, 70)
    recipe = make_recipe(corpus, task, subword_regularization=alpha)
    in_memory = prepare_data(recipe, tmp_path / "memory")
    cached = make_recipe(corpus, task, tmp_path / "cache", subword_regularization=alpha)
    written = prepare_data(cached, tmp_path / "written")
    opened = prepare_data(cached, tmp_path / "opened")
    expected = first_batches(in_memory, recipe)
    assert_equal_batches(first_batches(written, cached), expected)
    assert_equal_batches(first_batches(opened, cached), expected)
    ledgers = [(tmp_path / name / "ledger.jsonl").read_bytes() for name in ("memory", "written", "opened")]
    assert ledgers[0] == ledgers[1] == ledgers[2]
    assert list(opened.train) == list(in_memory.train) and list(opened.dev) == list(in_memory.dev)
    if not alpha:  # the way that needs no store: a list of all pairs, encoded at once
        read = read_texts if task == "language_model" else read_pairs
        dev = set(in_memory.dev)
        pairs = [pair for pair in read([corpus], Ledger(None)) if pair not in dev and len(pair.source) < 100]
        sources = Ragged(in_memory.source_tokenizer.encode_all([pair.source for pair in pairs]))
        targets = Ragged(in_memory.target_tokenizer.encode_all([pair.target for pair in pairs]))
        examples = Examples(sources, targets, task != "classification")
        batches = iterate_batches(lambda *_: examples, batch_tokens=64, seed=3, start=DataPosition())
        assert_equal_batches([batch for _, batch in islice(batches, 12)], expected)


def test_other_settings_use_other_prepared_data(tmp_path: Path) -> None:
    corpus, cache = write_corpus(tmp_path, "seq2seq", 60), tmp_path / "cache"
    small = prepare_data(make_recipe(corpus, cache=cache), tmp_path / "a")
    large = prepare_data(make_recipe(corpus, cache=cache, model="char"), tmp_path / "b")
    assert len(small.source_tokenizer) != len(large.source_tokenizer)
    folders = sorted(path.name.partition("-")[0] for path in cache.iterdir())
    assert folders.count("texts") == 1 and folders.count("tokens") == 4, "texts are shared; train and dev are encoded"
    corpus.write_text(corpus.read_text("utf-8") + "x y\ty x\n", encoding="utf-8")
    assert len(prepare_data(make_recipe(corpus, cache=cache), tmp_path / "c").train) > len(small.train)


PREPARE = """
import sys
from pathlib import Path
from tongsa.data import array_files
from tongsa.runs import tokenized_pairs
from tongsa.runs.data import prepare_data
from tongsa.runs.recipe import parse_recipe

tokenized_pairs.ENCODED_BLOCK_PAIRS = 200
corpus, cache, run, wait = sys.argv[1:]
save_progress = array_files.ArrayFiles.save_progress

def save_slowly(self, count):
    save_progress(self, count)
    print(count, flush=True)
    if wait == "wait" and count >= 1000:
        sys.stdin.read()

array_files.ArrayFiles.save_progress = save_slowly
data = {"train": [corpus], "max_tokens": 40, "cache": cache}
prepare_data(parse_recipe({"data": data, "tokenizer": {"vocab_size": 320}}), Path(run))
print("done", flush=True)
"""


def start_preparation(corpus: Path, cache: Path, run: Path, wait: str = "") -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PREPARE, str(corpus), str(cache), str(run), wait]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=ENVIRONMENT, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_a_killed_preparation_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, "seq2seq", 3000)
    process = start_preparation(corpus, tmp_path / "killed", tmp_path / "a", "wait")
    assert process.stdout is not None
    while process.stdout.readline().strip() != "1000":
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    output, messages = start_preparation(corpus, tmp_path / "killed", tmp_path / "b").communicate()
    assert output.split()[0] == "1200", f"it began again: {output} {messages}"
    start_preparation(corpus, tmp_path / "undisturbed", tmp_path / "c").communicate()
    assert folder_bytes(tmp_path / "killed") == folder_bytes(tmp_path / "undisturbed")


@pytest.mark.slow
def test_two_processes_prepare_the_same_data_once(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, "seq2seq", 3000)
    first = start_preparation(corpus, tmp_path / "cache", tmp_path / "a", "wait")
    assert first.stdout is not None
    while first.stdout.readline().strip() != "1000":
        assert first.poll() is None
    second = start_preparation(corpus, tmp_path / "cache", tmp_path / "b")
    time.sleep(4)
    assert second.poll() is None, "it does not wait"
    assert first.communicate("")[0].split()[-1] == "done"
    assert second.communicate()[0].split() == ["done"], "it has encoded the pairs again"
    tokenizers = [(tmp_path / run / "tokenizer" / "source.model").read_bytes() for run in "ab"]
    assert tokenizers[0] == tokenizers[1]
    assert not list((tmp_path / "cache").glob("*.part")) + list((tmp_path / "cache").glob(".*"))
