"""Sequence-level distillation, with small real runs of teacher and student."""

import json
from pathlib import Path

import pytest

from tiny import SMALL, reversing, write_pairs
from tongsa import bundle, config
from tongsa.cli import main
from tongsa.data.ledger import Ledger
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.recipe import DataConfig

STUDENT = """
[data]
folder = "{folder}"
train = "train.tsv"
dev = "dev.tsv"
"""


@pytest.fixture(scope="module")
def folder_with_teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a teacher for a few steps: its outputs differ from the references."""
    folder = tmp_path_factory.mktemp("distil")
    pairs = reversing(120)
    write_pairs(folder / "train.tsv", pairs[:100])
    write_pairs(folder / "dev.tsv", pairs[100:])
    (folder / "student.toml").write_text(STUDENT.format(folder=folder), "utf-8")
    teacher = [*set_flags("training.steps=4"), "--run", str(folder / "teacher")]
    assert main(["train", str(folder / "student.toml"), *teacher]) == 0
    return folder


def set_flags(*more: str) -> list[str]:
    return [word for setting in (*SMALL, *more) for word in ("--set", setting)]


def distil(folder_with_teacher: Path, run: str, *more: str, teachers: tuple[str, ...] = ("teacher",)) -> int:
    command = [
        "distil",
        *(str(folder_with_teacher / teacher) for teacher in teachers),
        "--recipe",
        str(folder_with_teacher / "student.toml"),
        "--run",
        str(folder_with_teacher / run),
    ]
    return main([*command, *set_flags("training.steps=3"), *more])


def test_a_student_is_trained_on_teacher_outputs_and_validated_on_references(folder_with_teacher: Path) -> None:
    assert distil(folder_with_teacher, "student", "--beam", "2") == 0
    records = [
        json.loads(line)
        for line in (folder_with_teacher / "student/distilled/pairs.jsonl").read_text("utf-8").splitlines()
    ]
    sources = [line.split("\t")[0] for line in (folder_with_teacher / "train.tsv").read_text("utf-8").splitlines()]
    assert [record["source"] for record in records] == list(dict.fromkeys(sources))
    teacher = bundle.load_bundle(folder_with_teacher / "teacher").translator()
    outputs = teacher.translate([record["source"] for record in records], beam=2)
    assert [record["target"] for record in records] == [output.text for output in outputs]
    data = config.read_toml(folder_with_teacher / "student/run.toml")["data"]
    assert [Path(name).name for name in data["train"]] == ["pairs.jsonl"]
    assert data["dev"] == ["dev.tsv"]


def test_distinct_nbest_outputs_become_pairs(folder_with_teacher: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert distil(folder_with_teacher, "several", "--beam", "3", "--nbest", "3") == 0
    records = [
        json.loads(line)
        for line in (folder_with_teacher / "several/distilled/pairs.jsonl").read_text("utf-8").splitlines()
    ]
    sources = list(dict.fromkeys(record["source"] for record in records))
    outputs = bundle.load_bundle(folder_with_teacher / "teacher").translator().translate(sources, beam=3, nbest=3)
    texts = [dict.fromkeys(output.text for output in (best, *best.alternatives)) for best in outputs]
    expected = [
        (source, text) for source, outputs_of_source in zip(sources, texts, strict=True) for text in outputs_of_source
    ]
    assert [(record["source"], record["target"]) for record in records] == expected
    assert len(records) > len(sources)
    capsys.readouterr()
    assert distil(folder_with_teacher, "too-many", "--beam", "3", "--nbest", "4") == 2
    assert "nbest 4" in capsys.readouterr().err
    assert not (folder_with_teacher / "too-many").exists()


def test_several_teachers_translate_as_an_ensemble(
    folder_with_teacher: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, second = folder_with_teacher, str(folder_with_teacher / "second-teacher")
    train = ["train", str(folder / "student.toml"), *set_flags("training.steps=4", "training.seed=2"), "--run", second]
    assert main(train) == 0
    assert distil(folder, "of-two", "--init-from-teacher", teachers=("teacher", "second-teacher")) == 0
    lines = (folder / "of-two/distilled/pairs.jsonl").read_text("utf-8").splitlines()
    sources, targets = zip(*((record["source"], record["target"]) for record in map(json.loads, lines)), strict=True)
    first, other = (bundle.load_bundle(folder / name) for name in ("teacher", "second-teacher"))
    outputs, alone = (translator.translate(sources) for translator in (first.translator([other]), first.translator()))
    assert list(targets) == [output.text for output in outputs] != [output.text for output in alone]
    assert config.read_toml(folder / "of-two/run.toml")["training"]["init_from"] == str(folder / "teacher")
    # a run that holds the outputs of two teachers is not continued with one
    (folder / "of-two/run.toml").unlink()
    capsys.readouterr()
    assert distil(folder, "of-two", "--init-from-teacher") == 2
    assert "of-two/distilled: made with another teacher" in capsys.readouterr().err


def test_a_file_is_read_once_for_the_teacher_and_for_the_student(tmp_path: Path) -> None:
    reader, first, second = CorpusReader(), Ledger(None), Ledger(None)
    write_pairs(tmp_path / "train.tsv", [("a", "b"), ("c", "")])
    references = reader.read(DataConfig(folder=str(tmp_path)), "seq2seq", ["train.tsv"], first)
    (tmp_path / "train.tsv").unlink()  # a second reading would fail
    write_pairs(tmp_path / "pairs.tsv", [("a", "B")])
    files = [str(tmp_path / name) for name in ("pairs.tsv", "train.tsv")]
    pairs = reader.read(DataConfig(), "seq2seq", files, second)
    assert list(pairs[1:]) == list(references) and [pair.target for pair in pairs] == ["B", "b"]
    assert (first.read, second.read, second.dropped) == (2, 3, first.dropped)


def test_keep_references_adds_the_recipes_pairs(folder_with_teacher: Path) -> None:
    assert distil(folder_with_teacher, "mixed", "--keep-references") == 0
    data = config.read_toml(folder_with_teacher / "mixed/run.toml")["data"]
    assert [Path(name).name for name in data["train"]] == ["pairs.jsonl", "train.tsv"]


def test_finished_teacher_outputs_are_reused(folder_with_teacher: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_with_teacher / "again/distilled"
    assert distil(folder_with_teacher, "again") == 0
    (folder_with_teacher / "again/run.toml").rename(
        folder_with_teacher / "run.toml.kept"
    )  # as if it was killed before the training
    for name in ("checkpoints", "model"):
        (folder_with_teacher / "again" / name).rename(folder_with_teacher / f"kept-{name}")
    changed = (folder / "pairs.jsonl").read_text("utf-8").replace('"target": "', '"target": "a ')
    (folder / "pairs.jsonl").write_text(changed, "utf-8")
    assert distil(folder_with_teacher, "again") == 0
    assert (folder / "pairs.jsonl").read_text("utf-8") == changed
    capsys.readouterr()
    assert distil(folder_with_teacher, "again") == 2
    assert "--resume" in capsys.readouterr().err


def test_outputs_of_another_job_are_not_reused(folder_with_teacher: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        distil(folder_with_teacher, "changed", "--set", "tokenizer.vocab_size=5") == 2
    )  # the teacher is done, the student cannot start
    assert (folder_with_teacher / "changed/distilled/pairs.jsonl").exists()
    more = [f"data.train={json.dumps([str(folder_with_teacher / 'dev.tsv')])}"]
    for changed_arguments in (["--beam", "2"], ["--set", *more]):
        capsys.readouterr()
        assert distil(folder_with_teacher, "changed", *changed_arguments) == 2
        assert "changed/distilled: made with another teacher" in capsys.readouterr().err
    assert distil(folder_with_teacher, "changed") == 0
    assert (
        main(
            [
                "distil",
                "nowhere",
                "--recipe",
                str(folder_with_teacher / "student.toml"),
                "--run",
                str(folder_with_teacher / "nobody"),
            ]
        )
        == 2
    )
    assert not (folder_with_teacher / "nobody").exists()


def test_a_missing_dev_set_or_teacher_is_an_error(
    folder_with_teacher: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distil(folder_with_teacher, "no-dev", "--set", "data.dev=[]") == 2
    assert "data.dev" in capsys.readouterr().err
    command = [
        "distil",
        str(folder_with_teacher),
        "--recipe",
        str(folder_with_teacher / "student.toml"),
        "--run",
        str(folder_with_teacher / "none"),
    ]
    assert main(command) == 2
    assert "no model here" in capsys.readouterr().err
    assert not (folder_with_teacher / "none" / "run.toml").exists()


def test_a_folder_with_foreign_checkpoints_is_an_error(
    folder_with_teacher: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder_with_teacher / "orphan/checkpoints/000000004").mkdir(parents=True)
    assert (
        main(
            [
                "train",
                str(folder_with_teacher / "student.toml"),
                "--run",
                str(folder_with_teacher / "orphan"),
                *set_flags(),
            ]
        )
        == 2
    )
    assert "checkpoints of a run, but no run.toml" in capsys.readouterr().err
