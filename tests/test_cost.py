"""The cost model: FLOPs against torch's counter, times against the paper's."""

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tongsa.batch import Padded
from tongsa.config import read_toml
from tongsa.models.transformer.seq2seq import BASE, TransformerConfig
from tongsa.nn.attention import record_attention
from tongsa.runs.recipe import parse_recipe

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "benchmarks" / "cost.py"
TINY = TransformerConfig(width=32, ffn_width=48, heads=4, encoder_layers=3, decoder_layers=2)
"""All sizes differ, so that a matrix counted on the wrong side shows."""


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("cost")


def count_flops(config: TransformerConfig, vocab_size: int, sentences: int, length: int) -> int:
    """Return the FLOPs of an update by torch's counter, on meta tensors."""
    with torch.device("meta"):
        model = config.build(vocab_size, vocab_size)
        side = Padded(torch.zeros(sentences, length, dtype=torch.long), torch.zeros(sentences, dtype=torch.long))
        # recorded attention uses separate products; fused attention computes some of them twice
        with FlopCounterMode(display=False) as counter, record_attention():
            model(side, side).sum().backward()
    total: int = counter.get_total_flops()
    return total


@pytest.mark.parametrize(("config", "vocab_size", "length"), [(TINY, 101, 7), (TINY, 101, 70), (BASE, 37_000, 27)])
def test_the_formula_counts_what_torch_counts(
    cost: ModuleType, config: TransformerConfig, vocab_size: int, length: int
) -> None:
    expected = count_flops(config, vocab_size, 5, length)
    assert cost.flops(config, vocab_size, 5 * length, length) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        replace(TINY, encoder_layers=2, decoder_layers=3),
        replace(TINY, encoder_layers=2),
        replace(TINY, decoder_layers=1),
        replace(TINY, ffn_width=32),
    ],
)
def test_the_formula_tells_models_apart(cost: ModuleType, other: TransformerConfig) -> None:
    """A moved or missing layer changes more than the tolerance above."""
    assert cost.flops(other, 101, 35, 7) != pytest.approx(count_flops(TINY, 101, 5, 7), rel=0.01)


def test_one_utilisation_explains_both_step_times_of_the_paper(cost: ModuleType) -> None:
    machine = cost.HARDWARE["P100"]
    assert 0.2 < machine.utilisation < 0.6
    for model in cost.MODELS.values():
        step_seconds = cost.seconds(cost.step_flops(model), machine)
        assert step_seconds == pytest.approx(model.step_seconds, rel=0.25)
        assert cost.seconds(cost.step_flops(model), replace(machine, utilisation=1.0)) < 0.5 * model.step_seconds


def test_the_utilisation_of_base_alone_would_make_big_too_slow(cost: ModuleType) -> None:
    """The larger matrices of big use a GPU better, so the calibrated utilisation lies between the two."""
    base, big = cost.MODELS.values()
    assert cost.implied_utilisation(base) < cost.HARDWARE["P100"].utilisation < cost.implied_utilisation(big)
    of_base = replace(cost.HARDWARE["P100"], utilisation=cost.implied_utilisation(base))
    assert cost.seconds(cost.step_flops(base), of_base) == pytest.approx(0.4)
    assert cost.seconds(cost.step_flops(big), of_base) == pytest.approx(1.36, abs=0.01)


def test_table_2_is_time_times_what_the_devices_could_do(cost: ModuleType) -> None:
    for model in cost.MODELS.values():
        checked = cost.check_paper(model)
        assert checked["table_2_flops"] == pytest.approx(model.flops, rel=0.02)
        assert checked["run_flops"] < checked["table_2_flops"], "the model needs more than the machine could do"
        assert model.seconds == pytest.approx(model.steps * model.step_seconds, rel=0.1)


def read_row(row_id: str) -> dict[str, Any]:
    """Return a row of the training benchmark."""
    results = json.loads((ROOT / "benchmarks/results/training.json").read_text("utf-8"))
    (row,) = [row for row in results["rows"] if row["id"] == row_id]
    return dict(row)


def test_the_cpu_is_as_fast_as_read_row(cost: ModuleType) -> None:
    """The model of the benchmark; its source is longer than its target, which the formula does not know."""
    config = replace(BASE, width=256, ffn_width=1024, heads=4, encoder_layers=3, decoder_layers=3)
    work = cost.flops(config, 8000, 1, 14)
    speed = 1 / cost.seconds(work, cost.HARDWARE["EPYC"])
    for row in map(read_row, ("transformer-tongsa-transformer", "kinds-tongsa-transformer")):
        assert work / 1e6 == pytest.approx(row["details"]["MFLOP per token"], rel=0.1)
        assert speed == pytest.approx(row["value"], rel=0.1)
    for page in ("docs/scaling.md", "docs/ko/scaling.md"):
        assert f"{speed:,.0f}" in (ROOT / page).read_text("utf-8")


@pytest.mark.parametrize(
    ("recipe", "run", "low", "high"),
    [("multi30k-short", "five-minutes", 0.40, 0.44), ("multi30k-de-en", "thirty-minutes", 0.59, 0.60)],
)
def test_runs_of_small_models_use_less_of_the_cpu(
    cost: ModuleType, recipe: str, run: str, low: float, high: float
) -> None:
    settings = parse_recipe(read_toml(ROOT / f"recipes/{recipe}.toml"))
    work = cost.flops(settings.model, settings.tokenizer.vocab_size, 1, 14)
    for seed in (1, 2):
        share = work * read_row(f"{run}-seed-{seed}")["details"]["tokens/s"] / cost.HARDWARE["EPYC"].peak
        assert low - 0.005 <= share <= high + 0.005
    for page in ("docs/scaling.md", "docs/ko/scaling.md"):
        assert f"{100 * low:.0f}–{100 * high:.0f}" in (ROOT / page).read_text("utf-8")


Rows = dict[tuple[str, str], dict[str, Any]]


def rows(cost: ModuleType, capsys: pytest.CaptureFixture[str], *arguments: str) -> Rows:
    assert cost.main(["--json", *arguments]) == 0
    return {(row["hardware"], row["model"]): row for row in json.loads(capsys.readouterr().out)["costs"]}


def test_more_hardware_is_faster_and_the_price_is_per_device_and_hour(
    cost: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = rows(cost, capsys, "--hardware", "EPYC", "P100", "A100", "A100:4", "H100", "--price", "A100=3")
    for size in ("base", "big"):
        hours = [costs[name, size]["hours"] for name in ("EPYC", "P100", "A100", "H100")]
        assert hours == sorted(hours, reverse=True)
        single, four = costs["A100", size], costs["A100:4", size]
        assert single["hours"] == pytest.approx(4 * four["hours"])
        assert single["usd"] == pytest.approx(four["usd"]) == pytest.approx(3 * single["hours"])
    for name in ("EPYC", "P100", "A100", "H100"):
        assert costs[name, "big"]["hours"] > 3 * costs[name, "base"]["hours"]
    faster = rows(cost, capsys, "--hardware", "A100", "--utilisation", "A100=0.6")
    assert faster["A100", "big"]["hours"] == pytest.approx(costs["A100", "big"]["hours"] / 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--hardware", "abacus"),
        ("--hardware", "A100:0"),
        ("--price", "A100"),
        ("--price", "A100=-1"),
        ("--utilisation", "A100=1.5"),
        ("--utilisation", "주판=0.5"),
    ],
)
def test_bad_arguments_are_explained(
    cost: ModuleType, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cost.main(arguments)
    assert stopped.value.code == 2
    assert f"{' '.join(arguments)}: " in capsys.readouterr().err


@pytest.mark.parametrize("page", ["docs/scaling.md", "docs/ko/scaling.md"])
def test_the_tables_in_the_documents_are_what_the_command_prints(
    cost: ModuleType, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    cost.main([])
    figures = [line for line in capsys.readouterr().out.splitlines() if "| base |" in line or "| big |" in line]
    assert len(figures) == 2 * (1 + len(cost.HARDWARE))
    written = (ROOT / page).read_text("utf-8").splitlines()
    assert [line for line in figures if line not in written] == []
