"""Data sets that Hugging Face `datasets` saved: folders of Arrow files, read without that package; hostile ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from tiny import SMALL, reversing
from tongsa import runs
from tongsa.config import read_toml
from tongsa.data.corpus import read_pairs, read_texts
from tongsa.data.ledger import Ledger
from tongsa.errors import InputError

pyarrow = pytest.importorskip("pyarrow")
PAIRS = reversing(50)


def save_split(folder: Path, columns: dict[str, Any], shards: int = 2) -> Path:
    """Write what `Dataset.save_to_disk` writes."""
    folder.mkdir(parents=True)
    table, names = pyarrow.table(columns), [f"data-{i:05}-of-{shards:05}.arrow" for i in range(shards)]
    size = -(-len(table) // shards)
    for i, name in enumerate(names):
        with pyarrow.ipc.new_stream(folder / name, table.schema) as writer:
            writer.write_table(table.slice(i * size, size), max_chunksize=7)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0", "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state), "utf-8")
    (folder / "dataset_info.json").write_text("{}", "utf-8")
    return folder


def texts(pairs: Any) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


@pytest.mark.parametrize("shards", [1, 3])
def test_columns_are_found_by_name_by_language_and_by_number(tmp_path: Path, shards: int) -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    translation = [{"en": source, "ko": target} for source, target in PAIRS]
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"source": sources, "target": targets, "id": [*range(len(PAIRS))]}, {}),
        ({"translation": translation}, {"languages": ("en", "ko")}),
        ({"n": [*range(len(PAIRS))], "x": targets, "y": sources}, {"columns": (3, 2)}),
    ]
    for i, (columns, options) in enumerate(cases):
        folder, ledger = save_split(tmp_path / str(i), columns, shards), Ledger(None)
        assert texts(read_pairs([folder], ledger, **options)) == PAIRS
        assert ledger.read == ledger.kept == len(PAIRS)
    folder = save_split(tmp_path / "texts", {"text": targets}, shards)
    assert [pair.target for pair in read_texts([folder], Ledger(None))] == targets
    with pyarrow.ipc.new_file(tmp_path / "indexed.arrow", pyarrow.table(cases[0][0]).schema) as writer:
        writer.write_table(pyarrow.table(cases[0][0]))
    assert texts(read_pairs([tmp_path / "indexed.arrow"], Ledger(None))) == PAIRS


def test_a_run_reads_the_split_of_a_saved_dataset_and_names_its_files(tmp_path: Path) -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    save_split(tmp_path / "saved/train", {"source": sources, "target": targets})
    (tmp_path / "saved/dataset_dict.json").write_text('{"splits": ["train", "test"]}', "utf-8")
    settings = [*SMALL, "training.steps=1", "decoding.max_extra_tokens=3"]
    with pytest.raises(InputError, match=r"has the splits train, test. Name one: .*saved/SPLIT"):
        runs.train(run=tmp_path / "run", data=tmp_path / "saved", settings=settings, quiet=True)
    runs.train(run=tmp_path / "run", data=tmp_path / "saved/train", settings=settings, quiet=True)
    files = read_toml(tmp_path / "run/run.toml")["data"]["train"]
    assert [Path(file).name for file in files] == ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]


@pytest.mark.parametrize(
    "state",
    [
        "[",
        "[1]",
        "{}",
        '{"_data_files": [{"filename": "../secret.arrow"}]}',
        '{"_data_files": [{"filename": "/etc/passwd"}]}',
        '{"_data_files": [{"filename": "state.json"}]}',
        '{"_data_files": [{"filename": 3}, 4]}',
        "[" * 100_000,
    ],
    ids=range(8),
)
def test_a_hostile_list_of_files_is_refused(tmp_path: Path, state: str) -> None:
    folder = save_split(tmp_path / "saved", {"source": ["a"], "target": ["b"]})
    (folder / "state.json").write_text(state, "utf-8")
    with pytest.raises(InputError, match=r"state\.json: .* Save the data set again\."):
        list(read_pairs([folder], Ledger(None)))


def test_offsets_that_point_outside_are_refused(tmp_path: Path) -> None:
    """Reading them without a check would read memory of the process."""
    path = save_split(tmp_path / "saved", {"source": ["abc"], "target": ["bc"]}, 1) / "data-00000-of-00001.arrow"
    content, offsets = path.read_bytes(), b"\0\0\0\0\3\0\0\0"
    assert offsets in content
    (tmp_path / "bad.arrow").write_bytes(content.replace(offsets, b"\0\0\0\0\xff\xff\xff\x7f"))
    with pytest.raises(InputError, match=r"bad\.arrow: damaged Arrow"):
        list(read_pairs([tmp_path / "bad.arrow"], Ledger(None)))
