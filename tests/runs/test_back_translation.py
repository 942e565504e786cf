"""Synthetic pairs: tagged, on the right side, the same bytes after a kill."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobs import WORDS, write_model
from tongsa.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "model")


def _write_texts(path: Path, count: int) -> list[str]:
    draw = random.Random(count)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 6))) for _ in range(count)]
    path.write_text("".join(f"{text}\n" for text in texts) + "\n")
    return texts


@pytest.mark.parametrize("side", ["target", "source"])
def test_texts_are_on_their_side_and_sources_are_tagged(model: Path, tmp_path: Path, side: str) -> None:
    texts = _write_texts(tmp_path / "mono.txt", 20)
    output = tmp_path / "out.tsv"
    flags = ["--self-train"] if side == "source" else ["--sample", "--seed", "3"]
    command = ["data", "back-translate", str(model), str(tmp_path / "mono.txt"), "-o", str(output), *flags]
    assert main(command) == 0
    pairs = [line.split("\t") for line in output.read_text().splitlines()]
    assert all(source.startswith("<bt> ") for source, _ in pairs)
    kept = [source.removeprefix("<bt> ") if side == "source" else target for source, target in pairs]
    *entries, last = map(json.loads, (tmp_path / "out.tsv.ledger.jsonl").read_text().splitlines())
    dropped = [entry["line"] for entry in entries if entry["reason"] == "empty-translation"]
    assert kept == [text for line, text in enumerate(texts, 1) if line not in dropped]
    assert (last["totals"]["read"], last["totals"]["kept"]) == (len(entries) + len(kept), len(kept))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mono.txt", "out.tsv", "out.tsv.ledger.jsonl"]
    assert main(command) == 2  # an existing file is not replaced


@pytest.mark.slow
def test_a_killed_command_goes_on_with_the_same_bytes(model: Path, tmp_path: Path) -> None:
    _write_texts(tmp_path / "mono.txt", 3000)

    def command(name: str) -> list[str]:
        arguments = ["back-translate", str(model), str(tmp_path / "mono.txt"), "-o", str(tmp_path / name), "--sample"]
        return [sys.executable, "-m", "tongsa.cli", "data", *arguments]

    with subprocess.Popen(command("killed.tsv"), stderr=subprocess.DEVNULL) as process:
        partial = tmp_path / "killed.tsv.translations.partial"
        while process.poll() is None and not (partial.exists() and partial.stat().st_size):
            time.sleep(0.01)
        process.kill()
    for name in ("killed.tsv", "whole.tsv"):
        if not (tmp_path / name).exists():
            subprocess.run(command(name), check=True, stderr=subprocess.DEVNULL)
    assert (tmp_path / "killed.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()
