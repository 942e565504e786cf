"""Trainings of a study: one run per setting and seed, used again, repeated when a setting changes."""

import json
from pathlib import Path

import pytest

from studies import small_models
from studies.__main__ import main
from studies.study import MeasureOptions
from studies.trained_runs import Evaluation, TrainingPlan, seed_values, train_all

SHARED = [
    *("model.width=16", "model.ffn_width=16", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.validate_every=2", "training.validate_sentences=1", "tokenizer.vocab_size=900"),
]


def last_loss(run: Path) -> Evaluation:
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    return {"loss": [record["loss"] for record in records if "loss" in record][-1]}


def plan(steps: int) -> TrainingPlan:
    return TrainingPlan(
        settings={"scaled": [], "dot": ["model.attention=dot"]},
        shared=[*SHARED, f"training.steps={steps}"],
        evaluate=last_loss,
    )


def test_values_of_diverged_runs_are_replaced_or_left_out() -> None:
    runs: list[Evaluation] = [{"test": {"bleu": 20.0}}, {"diverged": "step 3: the loss is nan"}]
    assert seed_values(runs, "test", "bleu") == [20.0]
    assert seed_values(runs, "test", "bleu", diverged=0.0) == [20.0, 0.0]


@pytest.mark.slow
def test_finished_runs_are_used_again_and_changed_settings_train_anew(tmp_path: Path) -> None:
    options = MeasureOptions(seeds=[1, 2], runs=tmp_path / "runs")
    first = train_all(plan(2), options)
    assert [len(runs) for runs in first.values()] == [2, 2]
    losses = [run["loss"] for runs in first.values() for run in runs]
    assert len(set(losses)) == 4
    journals = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("journal.jsonl")}
    assert train_all(plan(2), options) == first
    assert {path: path.stat().st_mtime_ns for path in journals} == journals
    changed = train_all(plan(3), options)
    assert not {run["loss"] for runs in changed.values() for run in runs} & set(losses)


@pytest.mark.slow
def test_two_processes_give_the_same_numbers_as_one(tmp_path: Path) -> None:
    alone, parallel = (
        train_all(plan(2), MeasureOptions(seeds=[1], runs=tmp_path / name / "runs", processes=processes))
        for name, processes in (("alone", 1), ("parallel", 2))
    )
    assert {name: [run["loss"] for run in runs] for name, runs in alone.items()} == {
        name: [run["loss"] for run in runs] for name, runs in parallel.items()
    }


def test_a_study_whose_data_is_missing_says_so_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(small_models, "MULTI30K", tmp_path / "multi30k")
    assert main(["smoothing", "norm_example", "--runs", str(tmp_path / "runs")]) == 2
    assert f"smoothing: {tmp_path / 'multi30k'}: not there. Put the files of Multi30k" in capsys.readouterr().err
    assert (tmp_path / "runs/norm_example/results.json").exists()
