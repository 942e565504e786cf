"""Files that the fuzz of the corpus readers found; its tool; lines of 50 MB."""

import subprocess
import sys
from pathlib import Path

import pytest

from processes import ENVIRONMENT
from tongsa.data.corpus import read_pairs
from tongsa.data.formats.table_rows import describe_error
from tongsa.data.ledger import Ledger

MARK_INSIDE = bytes.fromhex(
    "000a0009000d00200009000a002b7309000afffe26002000610020003dd800de2000260061006d0070003b0009003dd800de"
    "2000fffe0a0009003dd800de20000000200061002000260061006d0070003b000a005c002000260061006d0070003b002000"
    "6e006100ef007600650020006e006100ef007600650020005c0009003c0062003e0020002b732000fffe200009000a000900"
    "2000090020002b732000610009000a0026002000090020002b732000220020006500010309003dd800de20005c00"
)


def test_a_byte_order_mark_inside_a_file_is_no_mark_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_bytes(MARK_INSIDE)
    ledger = Ledger(None)
    pairs = list(read_pairs([path], ledger, encoding="auto"))
    assert ledger.kept == len(pairs) and ledger.read == ledger.kept + sum(ledger.dropped.values())


def test_bytes_of_a_file_are_escaped_in_a_message() -> None:
    assert describe_error(ValueError("don't know what type: \x0f\nmore")) == "don't know what type: \\x0f"


def test_the_tool_counts_its_cases(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    tool = Path(__file__).parents[2] / "tools/fuzz_corpora.py"
    command = [sys.executable, str(tool), "--cases", "40", "--minutes", "5"]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "seed 1: 40 cases from 0, 0 fell"


@pytest.mark.parametrize("name", ["parallel text", "Parquet"])
def test_a_line_of_50_mb_is_dropped_and_the_others_are_kept(tmp_path: Path, name: str) -> None:
    sources, targets = ["a", "b" * 50_000_000, "c"], ["가", "나", "다"]
    if name == "Parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"source": sources, "target": targets}), tmp_path / "a.parquet")
        files = [tmp_path / "a.parquet"]
    else:
        files = [tmp_path / "a.en", tmp_path / "a.ko"]
        for path, texts in zip(files, (sources, targets), strict=True):
            path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    ledger = Ledger(None)
    assert [(pair.source, pair.line) for pair in read_pairs(files, ledger)] == [("a", 1), ("c", 3)]
    assert (ledger.read, ledger.kept, dict(ledger.dropped)) == (3, 2, {"too-long-line": 1})
