"""The ladder: the models of the papers with the same data, tokenizer and size, and a report of their scores."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import run_command, set_flags
from tiny import reversing, write_pairs
from tongsa import config
from tongsa.errors import InputError
from tongsa.runs.grid_plan import DataFiles
from tongsa.runs.ladder import DEFAULT_BUDGET, MODELS, LadderPlan, ladder_grid, train_ladder
from tongsa.runs.ladder_data import prepare_ladder_data
from tongsa.runs.ladder_report import length_bands
from tongsa.training.journal import read_journal

TINY = ("model.width=16", "training.steps=2", "training.threads=1", "training.precision=fp32")


def read_lines(files: tuple[str, ...]) -> list[str]:
    return Path(files[0]).read_text("utf-8").splitlines()


def plan_of(folder: Path, **options: Any) -> LadderPlan:
    data = write_pairs(folder / "pairs.tsv", reversing(300))
    plan = LadderPlan(folder=folder / "ladder", data=DataFiles(train=(str(data),)), settings=TINY)
    return replace(plan, **options)


@pytest.fixture(scope="module", name="small_ladder")
def module_ladder(tmp_path_factory: pytest.TempPathFactory) -> tuple[LadderPlan, str]:
    """Return a ladder of two models with two seeds, and its table. Do not modify it."""
    plan = plan_of(tmp_path_factory.mktemp("ladder"), models=("rnn-lm", "cho"), seeds=(1, 2))
    return plan, train_ladder(plan, quiet=True).table()


def test_the_language_model_reads_the_targets_with_the_same_tokenizer_and_split(
    small_ladder: tuple[LadderPlan, str],
) -> None:
    plan, _ = small_ladder
    for split in ("train", "dev", "test"):
        pairs = [line.split("\t") for line in read_lines((str(plan.folder / f"data/{split}.tsv"),))]
        assert [target for _, target in pairs] == read_lines((str(plan.folder / f"data/{split}.target.txt"),))
    translator = plan.folder / "cho,seed=1/model"
    target_tokenizer = translator / "target-tokenizer.model"
    target_tokenizer = target_tokenizer if target_tokenizer.exists() else translator / "tokenizer.model"
    assert (plan.folder / "rnn-lm,seed=2/model/tokenizer.model").read_bytes() == target_tokenizer.read_bytes()


def test_the_report_has_means_over_seeds_of_all_scores_and_lengths(small_ladder: tuple[LadderPlan, str]) -> None:
    plan, table = small_ladder
    report = json.loads((plan.folder / "ladder.json").read_text("utf-8"))
    head, _, lm, cho = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert (lm[0], cho[0]) == ("rnn-lm", "cho")
    runs = [run for run in report["runs"] if run["model"] == "cho"]
    assert [run["seed"] for run in runs] == [1, 2]
    assert cho[head.index("chrf")] == f"{sum(run['test']['chrf'] for run in runs) / 2:.1f}"
    assert lm[head.index("chrf")] == "–"
    assert len(report["bands"]) == len(runs[0]["by_length"]) == len([name for name in head if name.endswith(" words")])
    assert (plan.folder / "ladder.md").read_text("utf-8").strip() == table
    family = (plan.folder / "family.html").read_text("utf-8")
    assert '"probed"' in family and "rnn-lm,seed" not in family, "the page is about models that read the sentence"
    assert len(read_journal(plan.folder / "cho,seed=1/probes.jsonl")) == 2, "steps 0 and 2"


def test_a_second_call_trains_nothing_and_gives_the_same_report(small_ladder: tuple[LadderPlan, str]) -> None:
    plan, table = small_ladder
    journal = (plan.folder / "grid.jsonl").read_bytes()
    assert train_ladder(plan, quiet=True).table() == table
    assert (plan.folder / "grid.jsonl").read_bytes() == journal


def test_other_data_in_the_same_folder_are_refused(small_ladder: tuple[LadderPlan, str], tmp_path: Path) -> None:
    other = write_pairs(tmp_path / "other.tsv", reversing(300, seed=1))
    with pytest.raises(InputError, match=r"train\.tsv: from other data .* Give the same, or another folder"):
        train_ladder(replace(small_ladder[0], data=DataFiles(train=(str(other),))), quiet=True)


def test_a_damaged_data_file_is_written_again_when_it_is_removed(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)

    def prepare() -> None:
        prepare_ladder_data(plan.folder / "data", plan.data, (), quick=True)

    prepare()
    path = plan.folder / "data" / "dev.tsv"
    before = path.read_bytes()
    path.write_bytes(before[:-1] + b"\xff")
    with pytest.raises(InputError, match=r"dev\.tsv: .* if it was damaged, remove it\."):
        prepare()
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"dev\.tsv: cannot be read .*Remove it; the same command writes it again\."):
        prepare()
    path.rmdir()
    prepare()
    assert path.read_bytes() == before


def test_dev_and_test_sets_are_split_off_without_common_sources(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    data = prepare_ladder_data(tmp_path / "data", plan.data, (), quick=False)
    train, dev, test = ({line.split("\t")[0] for line in read_lines(files)} for files in vars(data.pairs).values())
    assert train and dev and test
    assert not train & dev and not train & test and not dev & test
    few = write_pairs(tmp_path / "few.tsv", reversing(30)[:15])
    with pytest.raises(InputError, match=r"too few sentences to split off a dev set.*--dev FILE"):
        prepare_ladder_data(tmp_path / "few", DataFiles(train=(str(few),)), (), quick=False)
    with_files = DataFiles(train=(str(few),), dev=(str(few),), test=(str(few),))  # the remedy
    assert prepare_ladder_data(tmp_path / "few", with_files, (), quick=False).task == "seq2seq"


def test_few_different_targets_are_labels_and_columns_are_those_of_the_files(tmp_path: Path) -> None:
    lines = [f"{i}\t{source}\t{'long' if len(source) > 6 else 'short'}" for i, (source, _) in enumerate(reversing(300))]
    (tmp_path / "labels.tsv").write_text("\n".join(["id\ttext\tlabel", *lines]), "utf-8")
    files, settings = DataFiles(train=(str(tmp_path / "labels.tsv"),)), ("data.columns=[2,3]", "data.header=true")
    data = prepare_ladder_data(tmp_path / "data", files, settings, quick=False)
    assert data.task == "classification"
    assert {line.split("\t")[1] for line in read_lines(data.pairs.train)} == {"long", "short"}
    plan = plan_of(tmp_path, data=files, settings=(*TINY, *settings))
    grid = ladder_grid(plan, data, MODELS["classification"])
    assert not [setting for setting in grid.settings if setting.startswith(("data.columns", "data.header"))]
    assert [variant.name for variant in grid.all_variants] == ["lin", "transformer"]


def test_the_time_of_a_run_is_two_minutes_unless_time_or_steps_are_set(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    data = prepare_ladder_data(tmp_path / "data", plan.data, (), quick=False)
    budgets = [
        ladder_grid(replace(plan, **change), data, MODELS["seq2seq"]).budget
        for change in ({"settings": ()}, {"settings": (), "budget": "5m"}, {}, {"settings": (), "quick": True})
    ]
    assert budgets == [DEFAULT_BUDGET, "5m", None, None]


def test_wrong_arguments_are_refused_with_a_remedy_that_works(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(300))
    ladder = ["ladder", "--data", "pairs.tsv", "-o", "out", *set_flags(*TINY), "--models"]
    unknown = run_command(*ladder, "choo", cwd=tmp_path)
    assert (unknown.code, "Choose from rnn-lm, cho, " in unknown.error) == (2, True)
    for wrong, remedy in {
        ("--seeds", "0"): "--seeds 0: out of range. Give 1 to ",
        ("--quick", "--budget", "2m"): "a quick ladder has a fixed number of steps. Leave it out.",
        ("--set", "training.seed=3"): "Leave it out, and give --seeds N.",
        ("--set", "model.widht=3"): "did you mean 'width'?",
    }.items():
        failed = run_command(*ladder, "cho", *wrong, cwd=tmp_path)
        assert (failed.code, remedy in failed.error) == (2, True), failed.stderr
    without_data = run_command("ladder", "--dev", "pairs.tsv", "-o", "out", cwd=tmp_path)
    assert (without_data.code, "Leave it out, or add --data FILE." in without_data.error) == (2, True)
    done = run_command(*ladder, "cho", "--seeds", "1", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "| cho | Cho et al. 2014 |" in done.stdout


def test_a_failed_model_gives_exit_code_1_and_the_command_to_try_again(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(300))
    arguments = ["ladder", "--data", "pairs.tsv", "-o", "out", "--models", "cho", "--seeds", "2", *set_flags(*TINY)]
    (tmp_path / "out").mkdir()
    (tmp_path / "out/cho,seed=2").write_text("in the way", "utf-8")
    failed = run_command(*arguments, cwd=tmp_path)
    assert failed.code == 1
    assert "1 of 2 runs failed" in failed.stderr and "cho,seed=2: " in failed.stderr
    assert "| cho | Cho et al. 2014 |" in failed.stdout, "the report has the runs that finished"
    (tmp_path / "out/cho,seed=2").unlink()
    again = failed.stderr.rpartition("To try again: ")[2].split()
    assert again[again.index("ladder") :] == arguments
    assert run_command(*arguments, cwd=tmp_path).code == 0


@given(st.lists(st.integers(1, 60), min_size=1, max_size=400))
def test_each_length_is_in_one_band(lengths: list[int]) -> None:
    bands = length_bands(lengths)
    assert all(sum(band.low <= length <= band.high for band in bands) == 1 for length in lengths)


@pytest.mark.slow
def test_a_quick_ladder_of_the_phrasebook_has_all_models_of_about_one_size(tmp_path: Path) -> None:
    result = run_command("ladder", "--quick", "-o", "out", *set_flags(*TINY[2:]), cwd=tmp_path)
    assert result.code == 0, result.stderr
    assert "all runs have the same tokenizer" in result.stderr
    rows = [line.strip("| ").split(" | ") for line in result.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == [model.name for model in MODELS["seq2seq"]]
    parameters = {row[0]: int(row[2].replace(",", "")) for row in rows}
    assert all(0.75 < count / parameters["transformer"] < 1.25 for count in parameters.values()), parameters
    sutskever = config.read_toml(tmp_path / "out/sutskever,seed=1/run.toml")["model"]
    assert sutskever.items() >= {"cell": "lstm", "context_input": "start", "reverse_source": True, "layers": 2}.items()
    page = (tmp_path / "out/family.html").read_text("utf-8")
    assert all(f"{name},seed=1" in page for name in list(parameters)[1:])


@pytest.mark.slow
def test_a_ladder_of_classifiers(tmp_path: Path) -> None:
    labels = [(source, "long" if len(source) > 6 else "short") for source, _ in reversing(600)]
    write_pairs(tmp_path / "labels.tsv", labels)
    settings = set_flags("training.steps=40", "training.threads=1", "training.precision=fp32")
    result = run_command("ladder", "--data", "labels.tsv", "--quick", "-o", "out", *settings, cwd=tmp_path)
    assert result.code == 0, result.stderr
    rows = [line.strip("| ").split(" | ") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows[2:]] == ["lin", "transformer"]
    assert all(float(row[rows[0].index("accuracy")]) > 60 for row in rows[2:]), "two labels that are easy to tell apart"
