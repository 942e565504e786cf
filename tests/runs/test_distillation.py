"""A student learns what its teacher says, from real runs of both."""

import json
from pathlib import Path

import pytest

from tiny import SMALL, reversing, write_pairs
from tongsa import bundle, config
from tongsa.cli import main

STUDENT = """
[data]
folder = "{folder}"
train = "train.tsv"
dev = "dev.tsv"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher of another opinion than the pairs: it was hardly trained."""
    folder = tmp_path_factory.mktemp("distil")
    pairs = reversing(120)
    write_pairs(folder / "train.tsv", pairs[:100])
    write_pairs(folder / "dev.tsv", pairs[100:])
    (folder / "student.toml").write_text(STUDENT.format(folder=folder), "utf-8")
    teacher = [*small("training.steps=4"), "--run", str(folder / "teacher")]
    assert main(["train", str(folder / "student.toml"), *teacher]) == 0
    return folder


def small(*more: str) -> list[str]:
    return [word for setting in (*SMALL, *more) for word in ("--set", setting)]


def distil(place: Path, run: str, *more: str) -> int:
    command = ["distil", str(place / "teacher"), "--recipe", str(place / "student.toml"), "--run", str(place / run)]
    return main([*command, *small("training.steps=3"), *more])


def test_a_student_learns_from_what_the_teacher_says_and_is_validated_on_what_people_wrote(place: Path) -> None:
    assert distil(place, "student", "--beam", "2") == 0
    records = [json.loads(line) for line in (place / "student/distilled/pairs.jsonl").read_text("utf-8").splitlines()]
    sources = [line.split("\t")[0] for line in (place / "train.tsv").read_text("utf-8").splitlines()]
    assert [record["source"] for record in records] == list(dict.fromkeys(sources))
    teacher = bundle.load_bundle(place / "teacher").translator()
    said = teacher.translate([record["source"] for record in records], beam=2)
    assert [record["target"] for record in records] == [one.text for one in said]
    data = config.read_toml(place / "student/run.toml")["data"]
    assert [Path(name).name for name in data["train"]] == ["pairs.jsonl"]
    assert data["dev"] == ["dev.tsv"]


def test_several_outputs_of_a_teacher_are_each_learnt_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert distil(place, "several", "--beam", "3", "--nbest", "3") == 0
    records = [json.loads(line) for line in (place / "several/distilled/pairs.jsonl").read_text("utf-8").splitlines()]
    sources = list(dict.fromkeys(record["source"] for record in records))
    said = bundle.load_bundle(place / "teacher").translator().translate(sources, beam=3, nbest=3)
    texts = [dict.fromkeys(one.text for one in (best, *best.alternatives)) for best in said]
    right = [(source, text) for source, each in zip(sources, texts, strict=True) for text in each]
    assert [(record["source"], record["target"]) for record in records] == right
    assert len(records) > len(sources)
    capsys.readouterr()
    assert distil(place, "too-many", "--beam", "3", "--nbest", "4") == 2
    assert "nbest 4" in capsys.readouterr().err
    assert not (place / "too-many").exists()


def test_with_mix_people_are_heard_too(place: Path) -> None:
    assert distil(place, "mixed", "--keep-references") == 0
    data = config.read_toml(place / "mixed/run.toml")["data"]
    assert [Path(name).name for name in data["train"]] == ["pairs.jsonl", "train.tsv"]


def test_what_was_translated_before_a_death_is_not_translated_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = place / "again/distilled"
    assert distil(place, "again") == 0
    (place / "again/run.toml").rename(place / "run.toml.kept")  # as if it had died before the training
    for left in ("checkpoints", "model"):
        (place / "again" / left).rename(place / f"kept-{left}")
    changed = (folder / "pairs.jsonl").read_text("utf-8").replace('"target": "', '"target": "a ')
    (folder / "pairs.jsonl").write_text(changed, "utf-8")
    assert distil(place, "again") == 0
    assert (folder / "pairs.jsonl").read_text("utf-8") == changed
    capsys.readouterr()
    assert distil(place, "again") == 2
    assert "--resume" in capsys.readouterr().err


def test_what_one_teacher_has_said_is_not_taken_for_what_another_would_say(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distil(place, "changed", "--set", "tokenizer.vocab_size=5") == 2  # the teacher is done, the student cannot begin
    assert (place / "changed/distilled/pairs.jsonl").exists()
    more = [f"data.train={json.dumps([str(place / 'dev.tsv')])}"]
    for other in (["--beam", "2"], ["--set", *more]):
        capsys.readouterr()
        assert distil(place, "changed", *other) == 2
        assert "changed/distilled: begun with another teacher" in capsys.readouterr().err
    assert distil(place, "changed") == 0
    assert main(["distil", "nowhere", "--recipe", str(place / "student.toml"), "--run", str(place / "nobody")]) == 2
    assert not (place / "nobody").exists()


def test_a_student_without_dev_and_a_teacher_that_does_not_translate_are_refused(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distil(place, "no-dev", "--set", "data.dev=[]") == 2
    assert "data.dev" in capsys.readouterr().err
    command = ["distil", str(place), "--recipe", str(place / "student.toml"), "--run", str(place / "none")]
    assert main(command) == 2
    assert "no model here" in capsys.readouterr().err
    assert not (place / "none" / "run.toml").exists()


def test_snapshots_without_a_run_are_not_taken_for_ones_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "orphan/checkpoints/000000004").mkdir(parents=True)
    assert main(["train", str(place / "student.toml"), "--run", str(place / "orphan"), *small()]) == 2
    assert "checkpoints of a run, but no run.toml" in capsys.readouterr().err
