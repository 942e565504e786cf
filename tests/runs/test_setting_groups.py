"""Settings of compared runs: those that differ, and groups of runs that differ only in their seed."""

import json
from pathlib import Path
from typing import Any

from tongsa.config import dump_toml
from tongsa.runs.setting_groups import group_by_seed, read_settings, setting_differences


def settings(seed: int, **changes: Any) -> dict[str, Any]:
    return {
        "model.kind": "transformer",
        "model.attention": "dot",
        "training.seed": seed,
        "training.steps": 1000,
        **{key.replace("__", "."): value for key, value in changes.items()},
    }


def members(*runs: dict[str, Any]) -> list[tuple[int, ...]]:
    return [group.members for group in group_by_seed([f"run{i}" for i in range(len(runs))], runs)]


def test_runs_that_differ_only_in_their_seed_are_one_setting() -> None:
    additive = [settings(seed, model__attention="additive") for seed in (1, 2)]
    assert members(settings(1), additive[0], settings(2), additive[1], settings(3)) == [(0, 2, 4), (1, 3)]


def test_the_same_seed_twice_is_no_second_seed() -> None:
    assert members(settings(1), settings(1)) == [(0,), (1,)]


def test_systems_without_settings_are_never_grouped() -> None:
    assert members({}, {}) == [(0,), (1,)]


def test_steps_fitted_to_a_time_budget_may_differ_a_little() -> None:
    fitted = {"training__steps": 1100, "training__validate_every": 180, "training__lr__warmup": 120}
    assert members(settings(1), settings(2, **fitted)) == [(0, 1)]
    assert members(settings(1), settings(2, training__steps=2000)) == [(0,), (1,)]
    assert members(settings(1), settings(2, **fitted, training__batch_tokens=99)) == [(0,), (1,)]


def test_a_group_is_named_by_what_its_runs_have_in_common() -> None:
    runs = [settings(1), settings(2)]
    for names, expected in (
        (["dot-seed1", "dot-seed2"], "dot"),
        (["dot_1", "dot_2"], "dot"),
        (["1", "2"], "1"),
        (["base seed 10", "base seed 11"], "base"),
    ):
        assert group_by_seed(names, runs)[0].name == expected
    two = group_by_seed(["run1", "run2", "run3", "run4"], [*runs, settings(1, a=1), settings(2, a=1)])
    assert len({group.name for group in two}) == 2


def write_run(folder: Path, seed: int, checksum: str, data: str = "train.tsv") -> Path:
    folder.mkdir()
    table = {"data": {"folder": "data", "train": [data]}, "training": {"seed": seed, "lr": {"peak": 0.1}}}
    (folder / "run.toml").write_text(dump_toml(table), "utf-8")
    (folder / "data.json").write_text(json.dumps({str(Path("data") / data): checksum}), "utf-8")
    return folder


def test_the_content_of_data_files_counts_and_not_their_paths(tmp_path: Path) -> None:
    same = [read_settings(write_run(tmp_path / f"a{seed}", seed, "a" * 64)) for seed in (1, 2)]
    other = read_settings(write_run(tmp_path / "b", 3, "b" * 64))
    assert members(*same, other) == [(0, 1), (2,)]
    assert same[0]["training.lr.peak"] == 0.1
    assert read_settings(tmp_path) == {}


def test_only_settings_that_differ_are_listed() -> None:
    rnn = {"model.kind": "rnn", "model.cell": "gru", "training.seed": 1, "training.steps": 1000}
    runs = [settings(1), settings(2), settings(1, model__attention="additive", training__probe=["x"]), rnn, {}]
    groups = group_by_seed(["dot-1", "dot-2", "additive", "rnn", "theirs"], runs)
    differences = setting_differences(groups, runs)
    assert differences.keys == ["model.kind", "model.attention", "training.seed"]
    assert differences.rows == [
        ["transformer", "dot", "1, 2"],
        ["transformer", "additive", "1"],
        ["rnn", "–", "1"],
        ["–", "–", "–"],
    ]
