"""A refusal is cheap: files at the largest sizes are refused without taking memory for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from jobs import write_model
from processes import ENVIRONMENT
from tongsa import bounded_files, storage
from tongsa.bundle_description import MAX_FILE_BYTES
from tongsa.errors import InputError
from tongsa.training import journal
from tongsa.training.journal import Journal, read_journal

MAX_MEBIBYTES = 600
LOAD = """
import resource, sys
from pathlib import Path
from tongsa import bundle, system
from tongsa.errors import InputError
from tongsa.training.journal import Journal
path = Path(sys.argv[1])
try:
    if path.name == "journal.jsonl":
        Journal(path, last_step=10).file.close()
    elif path.name == "shortlist.safetensors":
        bundle.load_bundle(path.parent).load_shortlist()
    else:
        bundle.load_bundle(path.parent)
except InputError as error:
    print(error)
print(system.peak_memory() >> 20)
"""
LIMITS = MAX_FILE_BYTES | {
    "model.toml": bounded_files.MAX_TOML_BYTES,
    "weights.safetensors": bounded_files.MAX_WEIGHTS_BYTES,
    "shortlist.safetensors": bounded_files.MAX_SHORTLIST_BYTES,
    "journal.jsonl": journal.MAX_JOURNAL_BYTES,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_a_sparse_file_below_its_limit_is_refused_without_its_memory(name: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "bundle")
    description = folder / "model.toml"
    if name in MAX_FILE_BYTES and name not in description.read_text("utf-8"):
        description.write_text(f'{description.read_text("utf-8")}"{name}" = "{"0" * 64}"\n', "utf-8")
    with (folder / name).open("wb") as file:
        file.truncate(LIMITS[name] - 1)
    command = [sys.executable, "-c", LOAD, str(folder / name)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    *message, mebibytes = done.stdout.splitlines()
    assert int(mebibytes) < MAX_MEBIBYTES
    assert message or name == "journal.jsonl"  # whose line without an end is left out


def test_a_file_is_not_written_through_a_link_that_a_stranger_left(tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("mine", "utf-8")
    (tmp_path / "run.toml.part").symlink_to(target)
    storage.write_text(tmp_path / "run.toml", "new")
    assert (target.read_text("utf-8"), (tmp_path / "run.toml").read_text("utf-8")) == ("mine", "new")


@pytest.mark.parametrize("name", ["run.toml", "run.toml.part"])
def test_a_folder_where_a_file_belongs_is_named_and_can_be_removed(tmp_path: Path, name: str) -> None:
    """The message must not name the run: who removes that loses it."""
    (tmp_path / "run" / name).mkdir(parents=True)
    with pytest.raises(InputError) as error, storage.explain_os_errors(tmp_path / "run"):
        storage.write_text(tmp_path / "run" / "run.toml", "new")
    assert str(error.value).startswith(f"{tmp_path / 'run' / name}: a folder with this name exists. Remove it, or ")
    (tmp_path / "run" / name).rmdir()
    storage.write_text(tmp_path / "run" / "run.toml", "new")


def test_a_journal_line_with_half_of_a_surrogate_pair_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"step": 1, "note": "\\ud83d\\ude00"}\n{"step": 2, "note": "\\ud83d"}\n', "utf-8")
    assert [record["note"] for record in read_journal(path)] == ["\U0001f600"]


def test_a_long_journal_is_thinned_and_keeps_all_validations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_UPDATES", 10)
    path = tmp_path / "journal.jsonl"
    with Journal(path, last_step=-1) as writer:
        for step in range(1, 101):
            writer.write({"step": step, "loss": 1.0})
            if step % 10 == 0:
                writer.write({"step": step, "validation": {"bleu": 1.0}})
    records = read_journal(path)
    updates = [record["step"] for record in records if "loss" in record]
    assert [record["step"] for record in records if "validation" in record] == list(range(10, 101, 10))
    assert updates == list(range(updates[0], 101, updates[0]))
    assert 5 <= len(updates) <= 10
    assert [record["step"] for record in records] == sorted(record["step"] for record in records)
