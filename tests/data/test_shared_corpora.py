"""Counts of real corpora: in each data set of the shared folder, read = kept + dropped. Skipped without the folder."""

import sys
from pathlib import Path

import pytest

from tongsa.data.corpus import group_files, read_pairs, read_texts
from tongsa.data.ledger import Ledger

SHARED_DATA = Path(__file__).parents[3] / "shared/data"
SUFFIXES = (".tsv", ".tsv.gz", ".csv", ".jsonl")
SETS = sorted(path for path in SHARED_DATA.glob("*") if path.is_dir()) if SHARED_DATA.is_dir() else []
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SETS, reason="no shared data")]


def data_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of pairs with the parallel ones, whose names differ in the language only, and other files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "_about.txt")
    pairs = [path for path in files if path.name.endswith(SUFFIXES) or path.name == "kor.txt"]
    stems: dict[Path, list[Path]] = {}
    for path in files:
        if path not in pairs and "published" not in path.parts:
            stems.setdefault(path.with_name(path.name.removesuffix(".gz")).with_suffix(""), []).append(path)
    pairs += [path for group in stems.values() if len(group) == 2 for path in group]
    return pairs, [path for path in files if path not in pairs]


@pytest.mark.parametrize("folder", SETS, ids=lambda path: path.name)
def test_each_record_is_kept_or_dropped(folder: Path) -> None:
    table = [f"\n{'file':45}{'read':>12}{'kept':>12}{'dropped':>12}"]
    pairs, texts = data_files(folder)
    for unit in [*group_files(pairs), *((path,) for path in texts)]:
        ledger, read = Ledger(None), read_texts if unit[0] in texts else read_pairs
        count = sum(1 for _ in read(unit, ledger))
        dropped = sum(ledger.dropped.values())
        table.append(f"{unit[0].relative_to(SHARED_DATA)!s:45}{ledger.read:12,}{ledger.kept:12,}{dropped:12,}")
        assert ledger.read == ledger.kept + dropped and ledger.kept == count
    sys.stdout.write("\n".join(table))  # seen with `pytest -s`
