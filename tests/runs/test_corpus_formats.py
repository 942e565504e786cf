"""Runs and checks on corpora of other formats, encodings and with patterns of file names."""

from pathlib import Path

import pytest

from corpus_writers import csv_text, mo, tmx, write_corpus
from tiny import SMALL
from tongsa import config
from tongsa.runs.doctor import run_doctor
from tongsa.runs.planner import resolve_recipe
from tongsa.runs.train import train
from tongsa.runs.training_files import read_training_pairs

PAIRS = [(f"I go home {i} times", f"나는 집에 {i}번 간다") for i in range(60)]
SETTINGS = [*SMALL, "training.steps=2", "tokenizer.vocab_size=300"]


def test_a_run_keeps_the_names_that_match_a_pattern_and_says_what_it_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "part-2.csv").write_text(csv_text(PAIRS[30:]), "utf-8")
    (tmp_path / "part-1.csv").write_bytes(csv_text(PAIRS[:30]).encode("cp949"))
    settings = [*SETTINGS, "data.encoding=auto"]
    train(None, data=tmp_path / "part-*.csv", run=tmp_path / "run", settings=settings)
    assert "part-1.csv: converted from CP949" in " ".join(capsys.readouterr().err.split())
    names = config.read_toml(tmp_path / "run" / "run.toml")["data"]["train"]
    assert names == [str(tmp_path / "part-1.csv"), str(tmp_path / "part-2.csv")]
    assert [(pair.source, pair.target) for pair in read_training_pairs(tmp_path / "run")] == PAIRS


def test_doctor_checks_every_format(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(tmx(PAIRS), "utf-8")
    (tmp_path / "a.mo").write_bytes(mo(PAIRS))
    files = [tmp_path / "a.tmx", tmp_path / "a.mo"]
    findings = run_doctor(data=files, settings=[*SETTINGS, "data.source_language=en", "data.target_language=ko"])
    (dropped,) = (finding for finding in findings if finding.name == "dropped lines")
    assert (dropped.level, dropped.numbers["lines"]) == ("ok", 120)


def test_the_languages_of_a_tmx_are_those_of_the_file(tmp_path: Path) -> None:
    from tongsa.runs.corpus_reader import CorpusReader
    from tongsa.runs.languages import guess_languages

    file = write_corpus(tmp_path, "TMX", [("aaa bbb", "ccc ddd")] * 30, compression=".gz")
    recipe = resolve_recipe(None, data=file, settings=SETTINGS)
    data, _ = guess_languages(recipe.data, "seq2seq", CorpusReader())
    assert (data.source_language, data.target_language) == ("en", "ko")
