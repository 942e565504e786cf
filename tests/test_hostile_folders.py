"""Caches and records of a run folder: no pipe blocks, no link leads out, damage heals or is said."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny import SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.bounded_files import UnreadableFileError
from tongsa.checks import corpus
from tongsa.data.array_files import ArrayFiles
from tongsa.data.prepared_folder import find_damage, prepare_folder
from tongsa.errors import InputError
from tongsa.runs import card, distillation, system_outputs
from tongsa.runs.grid import GridRun, _test_score
from tongsa.runs.run import open_run
from tongsa.runs.translate_file import ResumableOutput

Damage = Callable[[Path], object]


def make_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def link_to_device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def write(text: str) -> Damage:
    return lambda path: path.write_text(text, "utf-8")


DAMAGES: dict[str, Damage] = {
    "a pipe": make_pipe,
    "a link to a device": link_to_device,
    "nested": write("[" * 5000 + "]" * 5000),
    "a number": write("3"),
    "a list of texts": write('["a"]'),
    "a table of another kind": write('{"files": {"x": 3}, "test": 3, "texts": 3, "totals": 3, "plan": 3}'),
    "a number of 5,000 digits": write("9" * 5000),
    "not UTF-8": lambda path: path.write_bytes(b"\xff\xfe{"),
    "empty": write(""),
}


def fill(arrays: ArrayFiles) -> None:
    arrays.restore_progress()
    arrays.append("values", np.arange(5))
    arrays.save_progress(5)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["manifest.json", "values"])
def test_a_damaged_cache_is_made_again_and_that_is_said(tmp_path: Path, name: str, damage: str) -> None:
    messages: list[str] = []
    folder = tmp_path / "cache"
    prepare_folder(folder, fill, messages.append)
    DAMAGES[damage](folder / name)
    assert prepare_folder(folder, fill, messages.append).read("values", np.int64).tolist() == [0, 1, 2, 3, 4]
    assert len(messages) == 1 and messages[0].endswith("the data are prepared again")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", "a/b"])
def test_a_manifest_does_not_lead_out_of_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "cache").mkdir()
    manifest = {"files": {name: {"size": 0, "sha256": "0" * 64}}}
    (tmp_path / "cache" / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert "is not a file of this folder" in find_damage(tmp_path / "cache")


@pytest.mark.parametrize("damage", DAMAGES)
def test_unfinished_data_go_on_or_begin_again_and_touch_no_other_file(tmp_path: Path, damage: str) -> None:
    folder, secret = tmp_path / "cache.part", tmp_path / "secret"
    folder.mkdir()
    secret.write_text("kept", "utf-8")
    (folder / "link").symlink_to(secret)
    (folder / "values").symlink_to(secret)
    DAMAGES[damage](folder / "progress.jsonl")
    sizes = {"../secret": 0, "values": 0}
    if damage == "empty":
        (folder / "progress.jsonl").write_text(json.dumps({"count": 3, "sizes": sizes}), "utf-8")
    prepare_folder(tmp_path / "cache", fill, print)
    assert secret.read_text("utf-8") == "kept"
    assert ArrayFiles(tmp_path / "cache").read("values", np.int64).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_records_are_sentences_or_are_left_out(tmp_path: Path, damage: str) -> None:
    def damage_file(name: str) -> Path:
        DAMAGES[damage](tmp_path / name)
        return tmp_path / name

    with pytest.raises(UnreadableFileError):
        corpus._read_ledger(damage_file("ledger.jsonl"))
    with pytest.raises(UnreadableFileError):
        _test_score(damage_file("scores.json"), "bleu")
    assert system_outputs._load(damage_file("outputs.json"), 1) is None
    with pytest.raises(InputError, match=r"damaged|other settings|pipe|link|journal"):
        damage_file("out.journal.json")
        ResumableOutput(tmp_path / "out", {"model": "a"})
    if damage != "empty":  # no output of the teacher
        damage_file("targets.jsonl")
        with pytest.raises(UnreadableFileError):
            distillation._write_pairs(tmp_path)
    with pytest.raises(InputError):
        distillation._check_same_job(damage_file("job.json"), {"model": "a"})


@pytest.mark.parametrize(
    "record", [{"folder": "/"}, {"state": "finished"}, {"score": "x", "state": "finished"}, {"steps": -1}]
)
def test_a_record_of_a_grid_that_is_not_one_leaves_the_run_waiting(record: dict[str, Any]) -> None:
    run = GridRun(name="a", folder=Path("a"), plan_folder=Path("p"), variant="", seed=1)
    assert run.with_record({"run": "a"} | record) == run


def test_other_names_and_links_among_the_recent_weights_are_left_alone(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(60))
    settings = ["training.steps=3", "training.validate_every=1", "training.average_last=3"]
    settings += ["training.validate_sentences=2", "decoding.max_extra_tokens=3"]
    runs.train(data=pairs, run=tmp_path / "run", settings=[*SMALL, *settings], quiet=True)
    recent, before = tmp_path / "run" / "recent", pairs.read_bytes()
    names = {path.name for path in recent.iterdir()}
    others = {f"{name}.safetensors" for name in ("best", "²", "-1", "000000009x")}
    for name in others:
        (recent / name).write_bytes(b"")
    (recent / "new.part").symlink_to(pairs)
    runs.resume(tmp_path / "run", settings=["training.steps=4"], quiet=True)
    assert {path.name for path in recent.iterdir()} == {*sorted(names)[1:], "000000004.safetensors"} | others
    assert pairs.read_bytes() == before
    run = open_run(tmp_path / "run")
    (tmp_path / "run" / "ledger.jsonl").write_text("{", "utf-8")
    assert "damaged" in card._drop_counts(run)
