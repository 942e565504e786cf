"""The benchmark scripts run as a user starts them, and their JSON reports are consistent."""

import importlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from live_server import random_model, sample_texts
from tiny import SMALL, reversing, write_pairs

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def run_script(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=580, check=False)


def run_report(script: str, *arguments: str) -> dict[str, Any]:
    result = run_script(script, *arguments)
    assert result.returncode == 0, result.stderr
    (line,) = result.stdout.splitlines()
    report: dict[str, Any] = json.loads(line)
    return report


@pytest.fixture(scope="module")
def speeds() -> dict[str, Any]:
    return measure_speeds("--workers", "1")


def measure_speeds(*options: str) -> dict[str, Any]:
    settings = ["--demo-data", "--tiny", "--seconds", "0.3", "--rounds", "1", "--kinds", "transformer"]
    return run_report("train_speed.py", "--json", *settings, "--peers", "plain", *options)


@pytest.mark.slow
def test_speed_is_compared_with_a_plain_loop_in_one_run(speeds: dict[str, Any]) -> None:
    for figures in (speeds, *speeds["kinds"].values(), *speeds["peers"].values()):
        assert figures["tokens_per_second"] > 0
        low, high = figures["utilisation_range"]
        assert 0 < low <= figures["utilisation"] <= high < 1.5
        assert 0 <= figures["padding"] < 1
        assert figures["peak_rss_mib"] > 50
    assert speeds["ratio_to_plain"] > 0
    assert speeds["peers"]["plain"]["ratio_to_plain"] == 1
    assert speeds["ratio_to_marian"] is None  # not requested


@pytest.mark.slow
def test_contestants_compute_the_same_products_per_token(speeds: dict[str, Any]) -> None:
    """Otherwise a contestant is not the model of the task, or a product is not counted."""
    ours, width, ffn_width, subwords = speeds["kinds"]["transformer"], 32, 64, speeds["data"]["subwords"]
    decoder = 8 * width * width + 2 * width * ffn_width + width * subwords
    encoder = 4 * width * width + 2 * width * ffn_width
    # two FLOP per weight, once forward and twice backward; 1 to 2 source positions per target token
    assert 6 * decoder < ours["mflop_per_token"] * 1e6 < 6 * (1.2 * decoder + 3 * encoder)
    theirs = speeds["peers"]["plain"]
    assert ours["mflop_per_token"] == pytest.approx(theirs["mflop_per_token"], rel=0.05)
    assert ours["parameters"] == pytest.approx(theirs["parameters"], rel=0.02)
    assert ours["tokens_per_update"] == pytest.approx(theirs["tokens_per_update"], rel=0.15)


@pytest.mark.slow
def test_workers_are_a_contestant() -> None:
    speeds = measure_speeds("--workers", "2")
    assert speeds["kinds"]["transformer_workers"]["tokens_per_second"] > 0


def test_missing_data_is_explained(tmp_path: Path) -> None:
    result = run_script("train_speed.py", "--data", str(tmp_path))
    assert result.returncode == 2
    assert "train.de.gz" in result.stderr
    assert "--demo-data" in result.stderr
    assert "Traceback" not in result.stderr


def write_journal(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def validation(step: int, bleu: float, seconds: float) -> dict[str, Any]:
    return {"step": step, "validation": {"bleu": bleu}, "best": True, "seconds": seconds}


def test_a_mark_is_reached_at_its_first_validation_and_validation_time_does_not_count(tmp_path: Path) -> None:
    records = [
        {"step": 1, "tokens": 100, "seconds": 2.0},
        {"step": 2, "tokens": 100, "seconds": 3.0},
        validation(2, 31.0, 1000.0),
        {"step": 3, "tokens": 200, "seconds": 5.0},
        validation(3, 36.0, 500.0),
        {"step": 4, "tokens": 200, "seconds": 5.0},
        validation(4, 35.5, 500.0),
    ]
    journal = write_journal(tmp_path / "journal.jsonl", records)
    report = run_report("speedrun.py", "--json", "--journal", str(journal), "--marks", "30", "35", "36.5")
    assert report["marks"] == {"30": 5.0, "35": 10.0, "36.5": None}
    (run,) = report["runs"]
    assert (run["training_seconds"], run["evaluation_seconds"]) == (15.0, 2000.0)
    assert (run["best_bleu"], run["last_bleu"], run["tokens"]) == (36.0, 35.5, 600)


def test_a_journal_without_scores_is_explained(tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "journal.jsonl", [{"step": 1, "tokens": 100, "seconds": 2.0}])
    result = run_script("speedrun.py", "--journal", str(journal))
    assert result.returncode == 2
    assert str(journal) in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_run_validates_on_the_whole_dev_set_and_keeps_its_best_model(tmp_path: Path) -> None:
    train = write_pairs(tmp_path / "train.tsv", reversing(200))
    dev = write_pairs(tmp_path / "dev.tsv", reversing(30, seed=2))
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'[data]\ntrain = ["{train}"]\ndev = ["{dev}"]\n', "utf-8")
    settings = [word for setting in SMALL for word in ("--set", setting)]
    schedule = ["--budgets", "1s", "--seeds", "1", "2", "--validations", "2", "--marks", "0", "101"]
    paths = ["--recipe", str(recipe), "--run", str(tmp_path / "runs")]
    report = run_report("speedrun.py", "--json", *paths, *schedule, *settings)
    assert report["marks"]["0"] > 0
    assert report["marks"]["101"] is None
    for run in report["runs"]:
        assert run["sentences"] == 30
        assert "beam:5" in run["signature"]
        assert run["bleu"] == pytest.approx(run["best_bleu"], abs=0.01)
        assert run["curve"][-1]["step"] == run["steps"]
    row, scores = report["budgets"]["1s"], [run["best_bleu"] for run in report["runs"]]
    assert row["seeds"] == [1, 2]
    assert row["best_bleu"] == {"median": sum(scores) / 2, "range": sorted(scores)}
    assert row["marks"]["101"] == {"runs": 0, "seconds": None}


@pytest.mark.slow
def test_language_models_of_characters_are_measured_in_nats_per_character(tmp_path: Path) -> None:
    """Random names of 3 to 9 letters have 3.07 nats per character: (6 ln 26 + ln 7) / 7; no model needs fewer."""
    folder = tmp_path / "data/tiny-lm"
    folder.mkdir(parents=True)
    letters, generator = "abcdefghijklmnopqrstuvwxyz", random.Random(1)
    names = ["".join(generator.choices(letters, k=generator.randint(3, 9))) for _ in range(640)]
    (folder / "names.txt").write_text("\n".join(names), "utf-8")
    paths = ["--folder", str(tmp_path / "data"), "--runs", str(tmp_path / "runs")]
    settings = [
        "--set",
        "training.threads=1",
        "--set",
        "training.precision=fp32",
        "--set",
        "tokenizer.byte_fallback=false",
    ]
    report = run_report(
        "ladder.py", "characters", "--splits", "names", "--budget", "10s", "--seeds", "1", *paths, *settings, "--json"
    )
    assert [row.split(" | ")[1] for row in report["rows"]] == ["rnn_lm", "transformer_lm"]
    for row in report["rows"]:
        value, unit = row.split(" | ")[2].split(" ", 1)
        assert unit == "nats per character on test"
        assert 2.5 < float(value) < 5, (
            "random letters cannot be predicted better than ln 26 = 3.26 nats, except the end"
        )


@pytest.mark.slow
def test_an_ensemble_of_one_seed_scores_as_its_model(tmp_path: Path) -> None:
    folder = tmp_path / "data/nmt-tips-jaen"
    folder.mkdir(parents=True)
    for name in ("train", "dev", "test"):
        for language in ("ja", "en"):
            (folder / f"{name}.{language}").write_text("".join(f"{text}\n" for text in sample_texts(60)), "utf-8")
    paths = ["--folder", str(tmp_path / "data"), "--runs", str(tmp_path / "runs"), "--seeds", "1"]
    settings = ["--set", "training.steps=60", "--set", "tokenizer.vocab_size=300"]
    report = run_report("staircase.py", *paths, *settings, "--json")
    steps = [row.split(" | ") for row in report["rows"]]
    assert [name[0] for name, *_ in steps] == list("123456")
    assert steps[5][1] == steps[4][1] != "0.00 BLEU on test"


@pytest.mark.slow
def test_a_server_under_load_answers_or_rejects_every_request(tmp_path: Path) -> None:
    run = random_model(tmp_path / "run")
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{text}\n" for text in sample_texts(20)), "utf-8")
    paths = [str(run), "--texts", str(lines), "--engine", "torch"]
    report = run_report("serve_load.py", "--json", *paths, "--seconds", "0.2", "--minutes", "0.02", "--rounds", "1")
    over = report["overload"]  # two seconds are too short for counts and memory growth
    assert over["sent"] == sum(over["statuses"].values()) > 0
    assert set(over["statuses"]) <= {"200", "503"}
    assert not over["unexpected"] and not over["wrong"]
    assert all(load["sent"] == load["statuses"]["200"] > 0 for load in (*report["batched"], report["after_overload"]))
    (turn,) = report["rounds"]
    assert turn["offline"]["engine"] == report["engine"] == "torch"
    assert report["machine"]["cores"] and turn["clients"]["clients"] == 64
    assert [load["clients"] for load in turn["overload"].values()] == [256, 1024]
    assert all(share["median"] > 0 for share in (report["offline_share"], *report["overload_shares"].values()))


def make_load(**others: Any) -> dict[str, Any]:
    return {"sent": 9, "statuses": {200: 9}, "unexpected": [], "wrong": 0, "memory_growth": 0.1} | others


@pytest.mark.parametrize(
    "fault", [{"sent": 10}, {"memory_growth": 0.11}, {"sent": 10, "statuses": {200: 9, 500: 1}}, {"wrong": 1}]
)
def test_a_failed_load_is_not_healthy(monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any]) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    serve_load = importlib.import_module("serve_load")
    quiet = {
        "batched": [make_load()],
        "unbatched": [make_load()],
        "before_overload": make_load(),
        "after_overload": make_load(),
        "rounds": [{"clients": make_load(), "overload": {"4": make_load(sent=12, statuses={200: 9, 503: 3})}}],
    }
    assert serve_load.is_healthy(quiet | {"overload": make_load()})
    assert not serve_load.is_healthy(quiet | {"overload": make_load(**fault)})


def test_memory_growth_is_from_the_second_quarter_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    grown = importlib.import_module("serve_load").memory_growth
    assert grown([1, 1, 100, 100, 500, 500, 110, 130]) == pytest.approx(0.2)
    assert grown([100, 300, 400, 300]) == 0


@pytest.mark.slow
def test_every_kind_of_request_to_a_server_is_answered_while_its_memory_is_measured(tmp_path: Path) -> None:
    run, lines = random_model(tmp_path / "run"), tmp_path / "lines.txt"
    lines.write_text("".join(f"{text}\n" for text in sample_texts(40)), "utf-8")
    report = run_report("serve_memory.py", "--json", str(run), "--texts", str(lines), "--requests", "30")
    assert len(report["growth_by_kind"]) == 10
    assert set(report["memory"]) == {"0", "30"}
    assert all(memory > 50 for memory in report["memory"].values())
