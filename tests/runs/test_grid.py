"""A grid of settings × seeds: planned once, trained to the end or resumed to the same bytes, with one journal."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import ENVIRONMENT, journal_steps, saved_bytes
from tiny import SMALL, reversing, write_pairs
from tongsa import config
from tongsa.cli.grid_arguments import add_grid_arguments, grid_plan
from tongsa.cli.parser import CommandParser
from tongsa.errors import InputError
from tongsa.runs import grid, planner
from tongsa.runs.grid import GridRun, describe_failures, train_grid
from tongsa.runs.grid_display import GridDisplay
from tongsa.runs.grid_plan import DataFiles, GridPlan, Vary, parse_vary
from tongsa.runs.grid_recipes import prepare_grid
from tongsa.runs.run import open_run
from tongsa.training.journal import read_journal

STEPS = 12
SETTINGS = (*SMALL, f"training.steps={STEPS}", "training.validate_every=6", "training.checkpoint_every=3")
NORMS = Vary("model.norm", ("pre", "post"))


def grid_of(folder: Path, **options: Any) -> GridPlan:
    data = write_pairs(folder / "pairs.tsv", reversing(300))
    plan = GridPlan(folder=folder / "grid", data=DataFiles(train=(str(data),)), settings=SETTINGS, vary=(NORMS,))
    return replace(plan, **options)


@pytest.fixture(scope="module", name="trained_grid")
def module_grid(tmp_path_factory: pytest.TempPathFactory) -> tuple[GridPlan, list[GridRun]]:
    """Return a grid of two settings and two seeds that was never interrupted. Do not modify it."""
    plan = grid_of(tmp_path_factory.mktemp("grid"), seeds=(1, 2))
    return plan, train_grid(plan, quiet=True)


@pytest.fixture(name="grid_copy")
def grid_in_another_folder(trained_grid: tuple[GridPlan, list[GridRun]], tmp_path: Path) -> GridPlan:
    plan = replace(trained_grid[0], folder=tmp_path / "grid")
    shutil.copytree(trained_grid[0].folder, plan.folder)
    return plan


def journal_without_times(plan: GridPlan) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in read_grid_journal(plan)]


def read_grid_journal(plan: GridPlan) -> list[dict[str, Any]]:
    return read_journal(plan.folder / "grid.jsonl")


def all_bytes(plan: GridPlan) -> dict[str, dict[str, str]]:
    """Return the checksums of model and checkpoint of each run."""
    return {run.name: saved_bytes(run, STEPS) for run in plan.folder.glob("*seed=*")}


def test_each_setting_is_trained_with_each_seed(trained_grid: tuple[GridPlan, list[GridRun]]) -> None:
    plan, runs = trained_grid
    assert [run.name for run in runs] == ["norm=pre,seed=1", "norm=pre,seed=2", "norm=post,seed=1", "norm=post,seed=2"]
    assert [record["run"] for record in read_grid_journal(plan)] == [run.name for run in runs]
    for run in runs:
        settings = config.read_toml(run.folder / "run.toml")
        assert (settings["model"]["norm"], settings["training"]["seed"]) == (run.variant[5:], run.seed)
        assert (run.state, run.steps, run.metric, run.split) == ("finished", STEPS, "bleu", "dev")
    assert len({json.dumps(all_bytes(plan)[run.name]) for run in runs}) == 4, "two runs are the same"


def test_the_runs_share_tokenizer_and_dev_set_and_those_of_a_setting_differ_in_their_seed_alone(
    trained_grid: tuple[GridPlan, list[GridRun]],
) -> None:
    _, runs = trained_grid
    assert len({(run.folder / "tokenizer/source.model").read_bytes() for run in runs}) == 1
    first, second = (config.read_toml(run.folder / "run.toml") for run in runs[:2])
    assert first.pop("training") == second.pop("training") | {"seed": 1}
    assert first == second
    assert len({tuple(open_run(run.folder).data.dev) for run in runs}) == 1


def test_a_second_call_trains_nothing_and_more_seeds_train_only_those(
    grid_copy: GridPlan, capsys: pytest.CaptureFixture[str]
) -> None:
    before, journal = all_bytes(grid_copy), read_grid_journal(grid_copy)
    assert [run.score for run in train_grid(grid_copy)] == [record["score"] for record in journal]
    assert "all have finished" in capsys.readouterr().err
    assert read_grid_journal(grid_copy) == journal
    runs = train_grid(replace(grid_copy, seeds=(1, 2, 3)), quiet=True)
    assert [run.name for run in runs if run.seed == 3] == ["norm=pre,seed=3", "norm=post,seed=3"]
    assert [record["run"] for record in read_grid_journal(grid_copy)[4:]] == ["norm=pre,seed=3", "norm=post,seed=3"]
    assert before.items() <= all_bytes(grid_copy).items()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"vary": (Vary("model.norm", ("pre",)),)}, "--vary changed"),
        ({"settings": (*SETTINGS, "model.dropout=0")}, "--set changed"),
        ({"preset": "tiny"}, "--preset changed"),
    ],
)
def test_another_plan_in_the_same_folder_is_refused(
    grid_copy: GridPlan, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    before = all_bytes(grid_copy)
    other = replace(grid_copy, **change)
    with pytest.raises(InputError, match=named) as error:
        train_grid(other, quiet=True)
    assert "Give the same arguments, or choose another folder." in str(error.value)
    assert all_bytes(grid_copy) == before
    prepare_grid(replace(other, folder=tmp_path / "other"), GridDisplay(0, 0, quiet=True))  # the remedy


def test_changed_data_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    plan = grid_of(tmp_path, vary=(), settings=(*SETTINGS[:-3], "training.steps=2"))
    train_grid(plan, quiet=True)
    (tmp_path / "pairs.tsv").write_text("a\tb\n" * 50, "utf-8")
    with pytest.raises(InputError, match=r"pairs\.tsv: changed since this run started"):
        train_grid(replace(plan, seeds=(1, 2)), quiet=True)
    assert not (plan.folder / "seed=2").exists()


@pytest.mark.parametrize(
    ("vary", "message", "remedy"),
    [
        (
            "model.atention=dot,additive",
            r"^--vary model.atention=dot: model.atention: unknown key; did you mean 'attention",
            "model.attention=dot,additive",
        ),
        ("attention=dot", r"did you mean 'model.attention'", "model.attention=dot"),
        (
            "model.norm=pre,past",
            r"^--vary model.norm=past: model.norm: 'past' is not one of 'post', 'pre'",
            "model.norm=pre,post",
        ),
        ("training.ema=0.9,x", r"^--vary training.ema=x: training.ema: 'x' is not a number", "training.ema=0.9,0"),
        ("model.kind=transformer,transfomer", r"did you mean 'transformer", "model.kind=transformer"),
        ("training.seed=1,2", "Give --seeds N instead", ""),
        ("model.norm=pre,pre", "Write --vary model.norm=VALUE,VALUE", "model.norm=pre,post"),
        ("model.width=32,64", "--set has the same key. Give it once", "model.value_width=8,16"),
        ("model.norm", "Write KEY=VALUE,VALUE, for example model.norm=pre,post.", "model.norm=pre,post"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_is_written(
    tmp_path: Path, vary: str, message: str, remedy: str
) -> None:
    with pytest.raises(InputError, match=message):
        train_grid(grid_of(tmp_path, vary=(parse_vary(vary),)), quiet=True)
    assert not (tmp_path / "grid").exists()
    remedied = {"vary": (parse_vary(remedy),)} if remedy else {"vary": (), "seeds": (1, 2)}
    assert prepare_grid(grid_of(tmp_path, **remedied), GridDisplay(0, 0, quiet=True))


def test_a_key_is_varied_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"another --vary has the same key\. Give it once"):
        grid_of(tmp_path, vary=(NORMS, Vary("model.norm", ("pre",))))


def test_an_error_of_set_is_not_blamed_on_vary(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--set: model.wide: unknown key"):
        train_grid(grid_of(tmp_path, settings=(*SETTINGS, "model.wide=3")), quiet=True)


def test_a_run_that_crashes_or_diverges_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    """A learning rate of 1e6 diverges; a file where the folder of a run belongs is an error of the system."""
    peaks = Vary("training.lr.peak", ("1e-3", "1e6"))
    settings = (*SETTINGS, "training.lr.schedule=linear", "training.lr.warmup=1")
    plan = grid_of(tmp_path, vary=(peaks,), seeds=(1, 2), settings=settings, command="tongsa compare recipe.toml")
    plan.folder.mkdir()
    (plan.folder / "peak=1e-3,seed=1").write_text("in the way", "utf-8")
    runs = {run.name: run for run in train_grid(plan, quiet=True)}
    assert [run.state for run in runs.values()] == ["failed", "finished", "failed", "failed"]
    assert "step 2: the loss is " in runs["peak=1e6,seed=1"].message
    summary = describe_failures(list(runs.values()), plan.command)
    assert summary.startswith("3 of 4 runs failed")
    assert "peak=1e-3,seed=1: " in summary
    assert summary.endswith("To try again: tongsa compare recipe.toml")
    (plan.folder / "peak=1e-3,seed=1").unlink()
    again = {run.name: run for run in train_grid(plan, quiet=True)}
    assert again["peak=1e-3,seed=1"].state == "finished"
    assert again["peak=1e6,seed=1"].state == "failed"
    assert sum(record["run"] == "peak=1e-3,seed=2" for record in read_grid_journal(plan)) == 1, "trained twice"


def test_an_unexpected_error_leaves_its_traceback_and_the_next_call_repeats_the_run(
    grid_copy: GridPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, folder = all_bytes(grid_copy), grid_copy.folder / "norm=pre,seed=2"
    shutil.rmtree(folder)
    with monkeypatch.context() as patch:
        patch.setattr(grid, "resume", lambda *_, **__: 1 // 0)
        failed = [run for run in train_grid(grid_copy, quiet=True) if run.state == "failed"]
    assert [run.name for run in failed] == ["norm=pre,seed=2"]
    assert failed[0].message.startswith("ZeroDivisionError: ")
    assert "ZeroDivisionError" in (folder / "error.txt").read_text("utf-8")
    assert all(run.state == "finished" for run in train_grid(grid_copy, quiet=True))
    assert all_bytes(grid_copy) == before


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def cut_at_a_line_end(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]), "utf-8")


def cut_after_the_first_table(path: Path) -> None:
    """Leave TOML that lacks a required setting."""
    path.write_text(path.read_text("utf-8").partition("\n\n")[0], "utf-8")


def replace_by_folder(path: Path) -> None:
    remove(path)
    path.mkdir()


def replace_by_broken_link(path: Path) -> None:
    remove(path)
    path.symlink_to("nowhere")


def overwrite(path: Path) -> None:
    path.write_bytes(b"\xff")


def replace_by_file(path: Path) -> None:
    remove(path)
    overwrite(path)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("run.toml", overwrite),
        ("run.toml", replace_by_folder),
        ("run.toml", cut_at_a_line_end),
        ("run.toml", cut_after_the_first_table),
        ("tokenizer", remove),
        ("tokenizer/source.model", overwrite),
        ("tokenizer/source.model.sha256", replace_by_broken_link),
    ],
)
def test_a_damaged_plan_of_a_setting_can_be_removed(
    grid_copy: GridPlan, name: str, damage: Callable[[Path], None]
) -> None:
    before, folder = all_bytes(grid_copy), grid_copy.folder / "plan/norm=post"
    damage(folder / name)
    remedy = re.escape(f"Remove {folder}; the same command plans this setting again.")
    with pytest.raises(InputError, match=f"{name}.*: .*{remedy}$"):
        train_grid(grid_copy, quiet=True)
    remove(folder)
    assert all(run.state == "finished" for run in train_grid(grid_copy, quiet=True))
    assert all_bytes(grid_copy) == before


@pytest.mark.parametrize("damage", [replace_by_broken_link, replace_by_file])
def test_a_setting_is_planned_again_where_no_folder_is(grid_copy: GridPlan, damage: Callable[[Path], None]) -> None:
    damage(grid_copy.folder / "plan/norm=post")
    assert all(run.state == "finished" for run in train_grid(grid_copy, quiet=True))


def test_a_run_that_is_a_broken_link_fails_alone_and_is_trained_when_it_is_removed(grid_copy: GridPlan) -> None:
    before, folder = all_bytes(grid_copy), grid_copy.folder / "norm=pre,seed=2"
    replace_by_broken_link(folder)
    failed = [run for run in train_grid(grid_copy, quiet=True) if run.state != "finished"]
    assert [(run.name, run.message) for run in failed] == [
        (folder.name, f"{folder}: a file or a broken link, not the folder of a run. Remove it.")
    ]
    remove(folder)
    assert all(run.state == "finished" for run in train_grid(grid_copy, quiet=True))
    assert all_bytes(grid_copy) == before


def test_a_record_that_cannot_be_written_again_is_a_damaged_one(grid_copy: GridPlan) -> None:
    """JSON can escape half of a surrogate pair; UTF-8 cannot encode it."""
    records, journal = journal_without_times(grid_copy), grid_copy.folder / "grid.jsonl"
    lines = journal.read_text("utf-8").splitlines(keepends=True)
    journal.write_text(lines[0].replace("}", ', "message": "\\ud800"}') + "".join(lines[1:]), "utf-8")
    assert all(run.state == "finished" for run in train_grid(grid_copy, quiet=True))
    assert journal_without_times(grid_copy) == [*records[1:], records[0]]


def test_the_preset_is_measured_once_and_the_steps_once_for_each_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[tuple[str, float]] = []

    def estimate(recipe: Any, *_: object) -> float:
        measured.append((recipe.kind, recipe.model.dropout))
        return 1e-6 if recipe.kind == "transformer" else 1e3  # only the Transformer has time for the larger preset

    monkeypatch.setattr(planner, "estimate_update_seconds", estimate)
    kinds, dropouts = Vary("model.kind", ("transformer", "rnn")), Vary("model.dropout", ("0.1", "0.2"))
    plan = grid_of(
        tmp_path, vary=(kinds, dropouts), settings=("training.threads=1", "training.precision=fp32"), budget="3s"
    )
    recipes = {variant.name: recipe for variant, recipe in prepare_grid(plan, GridDisplay(0, 0, quiet=True)).items()}
    assert measured == [("transformer", 0.1), ("rnn", 0.1)]
    assert json.loads((plan.folder / "grid.json").read_text("utf-8"))["preset"] == "tiny", "the smallest of all kinds"
    widths = {(recipe.kind, recipe.model.width) for recipe in recipes.values()}  # type: ignore[attr-defined]
    assert widths == {("transformer", 128), ("rnn", 160)}
    monkeypatch.setattr(planner, "estimate_update_seconds", lambda *_: pytest.fail("measured again"))
    again = prepare_grid(replace(plan, seeds=(1, 2)), GridDisplay(0, 0, quiet=True))
    assert {variant.name: recipe.training.steps for variant, recipe in again.items()} == {
        name: recipe.training.steps for name, recipe in recipes.items()
    }


VALUES = st.lists(
    st.one_of(
        st.sampled_from(["pre", "0.1", "true", "scaled-dot", '"a, b"', "[1, 2]", "'x,y'"]), st.integers(0, 99).map(str)
    ),
    min_size=1,
    unique=True,
)


@given(VALUES)
def test_commas_in_brackets_and_quotes_belong_to_a_value(values: list[str]) -> None:
    assert parse_vary(f"data.columns={','.join(values)}") == Vary("data.columns", tuple(values))


def test_folders_have_readable_names_unless_they_would_be_equal(tmp_path: Path) -> None:
    plan = grid_of(tmp_path, vary=(Vary("data.train", ("a/b.tsv", "c.tsv")), NORMS))
    assert [variant.name for variant in plan.all_variants][:2] == ["train=a-b.tsv,norm=pre", "train=a-b.tsv,norm=post"]
    same = grid_of(tmp_path, vary=(Vary("data.train", ("a/b", "a b")),))
    assert [variant.name for variant in same.all_variants] == ["setting=1", "setting=2"]
    assert [run_name(grid_of(tmp_path, vary=()), seed) for seed in (1, 2)] == ["seed=1", "seed=2"]


def run_name(plan: GridPlan, seed: int) -> str:
    return plan.run_folder(plan.all_variants[0], seed).name


CHILD = """
import json, sys
from pathlib import Path
import tongsa
tongsa.train_grid(**json.loads(sys.argv[1]))
"""


def start_grid(plan: GridPlan, environment: dict[str, str], **options: Any) -> "subprocess.Popen[str]":
    arguments = {
        "folder": str(plan.folder),
        "data": plan.data.train,
        "settings": plan.settings,
        "vary": {item.key: item.values for item in plan.vary},
        "seeds": len(plan.seeds),
    }
    words = [sys.executable, "-c", CHILD, json.dumps(arguments | options)]
    return subprocess.Popen(words, env=environment, text=True, stderr=subprocess.PIPE)


def total_steps(plan: GridPlan) -> int:
    return sum(len(journal_steps(run)) for run in plan.folder.glob("*seed=*"))


@pytest.mark.slow
def test_a_killed_grid_continues_to_the_same_journal_and_bytes(
    trained_grid: tuple[GridPlan, list[GridRun]], tmp_path: Path
) -> None:
    plan = replace(trained_grid[0], folder=tmp_path / "grid")
    generator = random.Random(os.urandom(8))
    code = None
    for kill_at in sorted(generator.sample(range(2, 2 * STEPS), 3)):
        process = start_grid(plan, ENVIRONMENT)
        while process.poll() is None and total_steps(plan) < kill_at:
            time.sleep(0.005)
        time.sleep(generator.random() * 0.2)  # in an update, a validation, a checkpoint, between two runs
        process.kill()
        process.communicate()
        code = process.returncode
    assert code == -signal.SIGKILL, "the grid ended before the last kill"
    with (plan.folder / "grid.jsonl").open("a") as file:
        file.write('{"run": "norm=pre,se')  # as if killed in the middle of a line
    runs = train_grid(plan, quiet=True)
    assert [run.state for run in runs] == ["finished"] * 4
    assert all_bytes(plan) == all_bytes(trained_grid[0])
    assert journal_without_times(plan) == journal_without_times(trained_grid[0])


@pytest.mark.slow
def test_a_signal_saves_and_names_the_command_that_continues(tmp_path: Path) -> None:
    plan = grid_of(tmp_path, settings=(*SETTINGS[:-3], "training.steps=100000", "training.checkpoint_every=100000"))
    process = start_grid(plan, ENVIRONMENT)
    while process.poll() is None and total_steps(plan) < 5:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, messages = process.communicate(timeout=100)
    assert "InterruptedRun: stopped and saved in" in messages
    assert "The same call continues." in messages
    (saved,) = (plan.folder / "norm=pre,seed=1/checkpoints").iterdir()
    assert int(saved.name) == len(journal_steps(plan.folder / "norm=pre,seed=1"))


@pytest.fixture(name="ray_environment")
def environment_of_ray() -> Iterator[dict[str, str]]:
    """Give Ray a folder of its own, with a short name because socket paths are limited."""
    folder = tempfile.mkdtemp(prefix="ray")
    variables = {"HOME": folder, "RAY_TMPDIR": folder, "RAY_worker_niceness": "0"}
    yield {name: value for name, value in ENVIRONMENT.items() if name != "RAY_ADDRESS"} | variables
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a local cluster is tested on Linux")
def test_a_ray_cluster_trains_the_same_bytes(
    trained_grid: tuple[GridPlan, list[GridRun]], ray_environment: dict[str, str], tmp_path: Path
) -> None:
    plan = replace(trained_grid[0], folder=tmp_path / "grid")
    process = start_grid(plan, ray_environment, executor="ray")
    _, messages = process.communicate(timeout=500)
    assert process.returncode == 0, messages
    assert all_bytes(plan) == all_bytes(trained_grid[0])
    records = sorted(journal_without_times(plan), key=lambda record: str(record["run"]))
    assert records == sorted(journal_without_times(trained_grid[0]), key=lambda record: str(record["run"]))


def test_the_arguments_of_a_grid_are_those_of_its_plan(tmp_path: Path) -> None:
    words = ["--vary", "model.norm=pre,post", "--vary", "model.dropout=0,0.1", "--seeds", "3", "--budget", "2m"]
    parser = CommandParser("tongsa compare")
    add_grid_arguments(parser)
    options = parser.parse_args([*words, "--set", "training.ema=0.9", "--executor", "ray"])
    options.argv = ["compare", "my recipe.toml", *words]
    plan = grid_plan(options, tmp_path / "out", recipe=Path("my recipe.toml"))
    assert plan == GridPlan(
        folder=tmp_path / "out",
        recipe=Path("my recipe.toml"),
        settings=("training.ema=0.9",),
        vary=(NORMS, Vary("model.dropout", ("0", "0.1"))),
        seeds=(1, 2, 3),
        budget="2m",
        executor="ray",
    )
    assert plan.command == f"tongsa compare 'my recipe.toml' {' '.join(words)}"
