"""`tongsa evaluate`: intervals, slices and formats of the same report, from the command line and from Python."""

import csv
import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import get_args

import pytest

import tongsa
from command_line import run_command
from tiny import reversing, write_pairs
from tongsa.cli.evaluate import METRICS, SLICES
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import EvaluationConfig, evaluate
from tongsa.evaluation.metrics import MetricName
from tongsa.runs.evaluation_slices import SLICE_NAMES


def test_every_score_has_an_interval_in_each_format(trained: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path / "test.tsv", [*reversing(40, seed=9), ("a b", "not 그것"), ("a b c d", "그것")])
    command = ["evaluate", trained, "--data", "test.tsv", "--by", "length", "position"]
    record = json.loads(run_command(*command, "--json", cwd=tmp_path).stdout)
    assert set(record["intervals"]) == set(record["signatures"]) == {"bleu", "chrf", "exact_match", "perplexity"}
    for name, (low, high) in record["intervals"].items():
        assert low <= record[name] <= high and low < high
    rows = list(csv.DictReader(io.StringIO(run_command(*command, "--csv", cwd=tmp_path).stdout)))
    complete = {row["metric"]: row for row in rows if row["by"] == "all"}
    assert {name: float(row["value"]) for name, row in complete.items()} == {name: record[name] for name in complete}
    assert [float(complete["bleu"][end]) for end in ("low", "high")] == record["intervals"]["bleu"]
    assert {(row["by"], row["bin"]) for row in rows} - {("all", "")} == {
        (table["by"], part["label"]) for table in record["slices"] for part in table["bins"]
    }
    table = run_command(*command, cwd=tmp_path).stdout
    assert "perplexity (teacher-forced)" in table and "teacher-forced:yes" in record["signatures"]["perplexity"]
    low, high = record["intervals"]["bleu"]
    assert f"{record['bleu']:.2f}  [{low:.2f}, {high:.2f}]" in table
    assert "by length: length of the source in words" in table
    report = tongsa.evaluate(trained, tmp_path / "test.tsv", by="length")
    assert report.scores["bleu"].interval == pytest.approx((low, high), abs=1e-4)
    assert report.slices[0].as_json() == record["slices"][0]


def test_a_validation_computes_the_same_values_without_intervals(trained: Path) -> None:
    pairs = reversing(20, seed=9)
    validated = evaluate(tongsa.load(trained, task="seq2seq"), pairs, EvaluationConfig(tokenize="char"))
    assert all(score.interval is None for score in validated.scores.values())
    evaluated = tongsa.evaluate(trained, pairs=pairs, tokenize="char")
    assert {name: score.value for name, score in validated.scores.items()} == {
        name: score.value for name, score in evaluated.scores.items()
    }


def test_a_page_has_the_same_scores_and_a_chart_of_each_slice(trained: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path / "test.tsv", reversing(40, seed=9))
    command = ["evaluate", trained, "--data", "test.tsv", "--by", "length", "frequency", "position"]
    result = run_command(*command, "-o", "slices.html", cwd=tmp_path)
    assert result.code == 0 and result.stdout == "" and "by length: length of the source" in result.stderr
    embedded = re.search('id="data">(.*?)</script>', (tmp_path / "slices.html").read_text("utf-8"), re.DOTALL)
    assert embedded
    data = json.loads(embedded[1])["panels"]["compare"]
    record = json.loads(run_command(*command, "--json", cwd=tmp_path).stdout)
    for metric in data["metrics"]:
        (score,) = metric["scores"]
        assert [score["value"], score["low"], score["high"]] == [
            record[metric["name"]],
            *(record["intervals"][metric["name"]] or (None, None)),
        ]
    for chart in data["slices"]:
        table = next(table for table in record["slices"] if table["by"] == chart["by"])
        assert [part["label"] for part in chart["bins"]] == [part["label"] for part in table["bins"]]
        values = [part["scores"][chart["metric"]]["value"] for part in table["bins"]]
        assert [estimate["value"] for estimate in chart["lines"][0]] == values
    assert {chart["by"] for chart in data["slices"]} == {"length", "frequency", "position"}


def test_one_sentence_has_scores_but_no_interval(trained: Path) -> None:
    report = tongsa.evaluate(trained, pairs=[("a b", "나 가")], metrics=["bleu", "ter"])
    assert all(score.interval is None for score in report.scores.values())
    assert str(report).endswith("one sentence has no interval: give a test set with more")
    assert report.as_json()["intervals"] == {"bleu": None, "ter": None, "perplexity": None}


def test_words_by_frequency_are_counted_in_the_training_files(trained: Path, tmp_path: Path) -> None:
    report = tongsa.evaluate(trained, pairs=[*reversing(10, seed=9), ("a b", "새말 가")], by=["frequency"])
    (table,) = report.slices
    counts = {part.label: part.count for part in table.slices}
    assert counts["0"] == 1  # 새말
    assert sum(counts.values()) == sum(len(target.split()) for _, target in reversing(10, seed=9)) + 2


def test_words_by_frequency_need_the_training_files(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "model", tmp_path / "copy")
    write_pairs(tmp_path / "test.tsv", reversing(5))
    command = ["evaluate", "copy", "--data", "test.tsv", "--by"]
    failed = run_command(*command, "frequency", cwd=tmp_path)
    assert failed.code == 2
    assert "--by frequency: the training files cannot be read. copy: no run.toml" in failed.error
    assert run_command("evaluate", trained, *command[2:], "frequency", cwd=tmp_path).code == 0  # as the message says
    assert run_command(*command, "length", cwd=tmp_path).code == 0


def test_a_language_model_has_slices_by_length_only(folder: Path) -> None:
    command = ["evaluate", "lm", "--data", "texts.txt"]
    failed = run_command(*command, "--by", "position", cwd=folder)
    assert failed.code == 2 and "--by position: only for models that translate." in failed.error
    assert "by length: length of the text in words" in run_command(*command, "--by", "length", cwd=folder).stdout
    with pytest.raises(InputError, match="--by author: unknown"):
        tongsa.evaluate(folder / "lm", folder / "texts.txt", by="author")


def test_comet_without_a_model_or_the_package_is_explained(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)  # as if it were not installed
    write_pairs(tmp_path / "test.tsv", reversing(3))
    command = ["evaluate", trained, "--data", "test.tsv", "--metrics", "comet"]
    assert "COMET needs a model. Add --comet-model FILE" in run_command(*command, cwd=tmp_path).error
    failed = run_command(*command, "--comet-model", "model.ckpt", cwd=tmp_path)
    assert failed.code == 2 and "unbabel-comet is not installed" in failed.error


def test_the_choices_are_those_of_the_library() -> None:
    assert get_args(MetricName) == METRICS
    assert SLICE_NAMES == SLICES
