"""The command that simulates the scale: options, messages, and its tables in the documents."""

import importlib
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

from test_scale_sim import IDEAL

ROOT = Path(__file__).parent.parent
PAGES = ["docs/scaling.md", "docs/ko/scaling.md"]
OUTPUT = re.compile(r"<!-- output of scale_sim\.py(.*?) -->\n(.*?)<!-- end -->", re.DOTALL)


@pytest.fixture(scope="module", name="sim")
def simulator() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("scale_sim")


QUICK = ["--steps", "2000", "--mtbf-hours", "1", "--trials", "10", "--workers", "1", "16"]


def test_a_run_that_fails_before_each_checkpoint_never_ends(
    sim: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--mtbf-hours", "0.1", "--checkpoint-every", "100000", "--workers", "8"]
    assert sim.main([*options, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rows"][0]["days"], report["rows"][0]["speed_up"], report["fastest"]) == (None, 0, 0)
    assert sim.main(options) == 0
    assert "| never |" in capsys.readouterr().out


def test_the_same_seed_gives_the_same_table(sim: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        assert sim.main([*QUICK, "--hardware", "EPYC", "--seed", seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].splitlines()[6:] != outputs[2].splitlines()[6:]


@pytest.mark.parametrize("size", ["base", "big"])
def test_the_recipes_are_the_models_of_the_cost_model(
    sim: ModuleType, capsys: pytest.CaptureFixture[str], size: str
) -> None:
    recipe = ROOT / f"recipes/wmt14-en-de-{size}.toml"
    assert sim.main([*QUICK[2:], "--recipe", str(recipe), "--steps", "100", "--hardware", "H100", "--json"]) == 0
    a, paper = json.loads(capsys.readouterr().out)["assumptions"], sim.cost.MODELS[size]
    assert a["tokens_per_update"] == sim.cost.TOKENS
    alone = sim.cost.seconds(sim.cost.step_flops(paper), replace(sim.cost.HARDWARE["H100"], count=1))
    assert a["tokens_per_update"] / a["tokens_per_second"] == pytest.approx(alone, rel=1e-4)
    assert re.search(rf"^steps = {paper.steps:_}$", recipe.read_text("utf-8"), re.MULTILINE)
    assert a["parameters"] == pytest.approx({"base": 65e6, "big": 213e6}[size], rel=0.04)  # table 3


def test_every_assumption_is_printed_and_is_an_option(sim: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {name: value for name, value in IDEAL.items() if name != "steps"} | {"all_reduce": "tree", "seed": 7}
    options = [word for name, value in numbers.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    assert sim.main([*options, "--steps", "50", "--workers", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["assumptions"].items() >= (numbers | {"steps": 50}).items()
    assert sim.main([*options, "--steps", "50", "--workers", "2"]) == 0
    text = " ".join(capsys.readouterr().out.split("\n\n")[0].splitlines())
    assert all(f" {name} {value}" in text for name, value in report["assumptions"].items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--workers 0", "--workers: out of range. Give numbers from 1 to 1024."),
        ("--jitter 1.5", "jitter: 1.5 is out of range. Write a number in [0, 1)."),
        ("--serial-seconds 9", "serial_seconds: longer than an update. Give a smaller --serial-seconds."),
        ("--recipe missing.toml", "missing.toml: no such file."),
        (f"--recipe {ROOT}/recipes/multi30k-rnn.toml", "not an encoder–decoder Transformer. Give the recipe of one."),
    ],
)
def test_bad_arguments_are_explained(
    sim: ModuleType, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    try:
        code = sim.main(shlex.split(arguments))
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_a_smaller_serial_time_is_accepted(sim: ModuleType) -> None:
    assert sim.main([*QUICK, "--serial-seconds", "0.01"]) == 0


@pytest.fixture(scope="module", name="outputs")
def documented_outputs(sim: ModuleType) -> dict[str, str]:
    """Return the output of each command that the pages show, by its arguments."""
    outputs: dict[str, str] = {}
    for page in PAGES:
        for arguments, _ in OUTPUT.findall((ROOT / page).read_text("utf-8")):
            if arguments not in outputs:
                with redirect_stdout(StringIO()) as output:
                    assert sim.main(shlex.split(arguments)) == 0
                outputs[arguments] = output.getvalue()
    return outputs


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_in_the_documents_are_what_the_commands_print(outputs: dict[str, str], page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    shown = dict(OUTPUT.findall(text))
    assert len(shown) == 2
    for arguments, output in outputs.items():
        command = f"python benchmarks/scale_sim.py{arguments}"
        assert shown[arguments] == output, f"{page}: paste the output of {command}"
        assert re.search(rf"^{re.escape(command)}(  |$)", text, re.MULTILINE), f"{page}: {command} is not shown"


@pytest.mark.parametrize("page", PAGES)
def test_figures_in_the_text_are_those_of_the_simulation(sim: ModuleType, page: str) -> None:
    options = sim.parse_options(["--trials", "200"])
    text, a = (ROOT / page).read_text("utf-8"), sim.read_assumptions(options)
    row = sim.simulate(a, 8)
    assert row["days"] * 24 * 60 == pytest.approx(50, abs=1)
    assert sim.simulate(a, 16)["days"] > row["days"]
    assert a.tokens_per_update / 16 == pytest.approx(1563, abs=1)
    assert a.tokens_per_update / sim.cost.LENGTH == pytest.approx(926, abs=1)
    assert sim.worker_limits(replace(a, tokens_per_update=400_000), 100)["half_efficient"] == 50
    assert sim.simulate(replace(a, mtbf_hours=24.0), 8)["daly_seconds"] / 60 == pytest.approx(13.5, abs=0.05)
    saved_often = sim.simulate(replace(a, checkpoint_every=1500), 8)
    assert saved_often["shares"]["checkpoints"] == pytest.approx(0.08, abs=0.005)
    assert saved_often["update_seconds"] * 1500 == pytest.approx(45, abs=1)
    assert a.checkpoint_seconds / 600 == pytest.approx(0.006, abs=5e-4)
    assert a.jitter == 0.05
    figures = ("50", "1,563", "926", "--tokens-per-update 400000", "--mtbf-hours 24", "13.5", "45", "0.95 + 0.05·E")
    assert [figure for figure in figures if figure not in text] == []
