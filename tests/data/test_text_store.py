"""Pairs in arrays instead of lists, and folders of prepared arrays."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongsa import system
from tongsa.data.array_files import ArrayFiles
from tongsa.data.ledger import Pair
from tongsa.data.normalize import normalize
from tongsa.data.prepared_folder import MANIFEST_FILE, prepare_folder
from tongsa.data.text_store import PairStore, open_pairs, write_pairs

TEXTS = st.text(max_size=12).map(normalize)
PAIRS = st.lists(
    st.builds(Pair, TEXTS, TEXTS, st.sampled_from(["a.tsv", "b.tsv"]), st.integers(1, 10**10)), max_size=20
)


@settings(max_examples=40)
@given(PAIRS, PAIRS, st.data())
def test_a_store_reads_like_the_list_of_its_pairs(first: list[Pair], second: list[Pair], data: st.DataObject) -> None:
    pairs = first + second
    store = PairStore([*PairStore.from_pairs(first).parts, *PairStore.from_pairs(second).parts])
    assert list(store) == pairs and len(store) == len(pairs)
    assert list(store.sources) == [pair.source for pair in pairs]
    start, step = data.draw(st.integers(-7, 7)), data.draw(st.sampled_from([-3, -1, 1, 2]))
    assert list(store[start::step]) == pairs[start::step]
    assert store.targets[start::step] == [pair.target for pair in pairs[start::step]]
    rows = data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=9) if pairs else st.just([]))
    selected = store.select(np.array(rows, dtype=np.int64))
    assert [selected[i] for i in range(len(rows))] == [pairs[row] for row in rows]
    assert selected.first_lines == [pairs[row] for row in rows if pairs[row].line == 1]


@pytest.mark.parametrize("read_once", [system._read_once, system._seek_and_read])
def test_pairs_on_disk_equal_pairs_in_memory(
    read_once: Callable[[int, int, int], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "_read_once", read_once)  # Windows has no pread
    monkeypatch.setattr(system, "MAX_READ_BYTES", 7)
    pairs = [Pair(f"가 {i}", "" if i % 3 else "x" * i, "a.tsv", i + 1) for i in range(50)]
    arrays = ArrayFiles(tmp_path)
    files = write_pairs(pairs, arrays)
    arrays.close()
    store = PairStore([open_pairs(arrays, files)])
    assert list(store) == pairs and store[-1] == pairs[-1]
    assert store[::40].sources.take(np.array([1, 0])) == [pairs[40].source, pairs[0].source]


def test_a_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    arrays = ArrayFiles(tmp_path)
    arrays.append("numbers", np.arange(100))
    arrays.close()
    numbers = arrays.open_array("numbers", np.int64)
    os.truncate(tmp_path / "numbers", 80)
    assert numbers[:10].tolist() == [*range(10)]
    with pytest.raises(OSError, match="numbers"):
        numbers[5:11]


def test_progress_cuts_off_what_came_after_it(tmp_path: Path) -> None:
    arrays = ArrayFiles(tmp_path)
    arrays.append("a", b"123")
    arrays.save_progress(3)
    arrays.append("a", b"45")
    arrays.append("b", b"6")
    arrays.close()
    with (tmp_path / "progress.jsonl").open("a") as file:
        file.write('{"count": 9, "si')  # the process was killed while it wrote this line
    again = ArrayFiles(tmp_path)
    assert again.restore_progress() == 3
    again.append("a", b"x")
    again.save_progress(4)
    again.close()
    assert (tmp_path / "a").read_bytes() == b"123x" and (tmp_path / "b").read_bytes() == b""
    assert ArrayFiles(tmp_path).restore_progress() == 4


def fill(arrays: ArrayFiles) -> None:
    arrays.restore_progress()
    arrays.append("numbers", np.arange(100))


@pytest.mark.parametrize("damage", ["truncated", "changed", "removed", "no manifest"])
def test_a_damaged_folder_is_noticed_and_filled_again(damage: str, tmp_path: Path) -> None:
    folder, messages = tmp_path / "cache" / "numbers", list[str]()
    prepare_folder(folder, fill, messages.append)
    path = folder / (MANIFEST_FILE if damage == "no manifest" else "numbers")
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[:-1])
    elif damage == "changed":
        path.write_bytes(content[:-1] + b"x")
    else:
        path.unlink()
    arrays = prepare_folder(folder, fill, messages.append)
    assert arrays.read("numbers", np.int64).tolist() == list(range(100))
    assert len(messages) == 1 and "the data are prepared again" in messages[0]
    assert [path.name for path in folder.parent.iterdir()] == ["numbers"], "temporary files are left"
    manifest = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
    assert manifest["files"]["numbers"]["size"] == 800
