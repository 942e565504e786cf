"""Rules of the trained studies: a claim of a difference needs a difference, in the direction of the claim."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from studies.figures import render
from studies.pages import STUDY_PAGES, study_page
from studies.small_models import MULTI30K
from studies.study import LANGUAGES, MeasureOptions, load_study, study_names
from studies.trained_runs import TrainingPlan
from tongsa.demo.demo import demo_recipe_path
from tongsa.runs.planner import resolve_recipe

SEEDS = (1, 2, 3)
SCORES = {"exact_match": 50.0, "bleu": 60.0, "perplexity": 3.0, "log_perplexity": 1.1, "token_accuracy": 70.0}
EVALUATION: dict[str, Any] = {
    "test": SCORES,
    "long": SCORES | {"length_ratio": 1.0},
    "compressed": SCORES,
    "shifted": {str(shift): 40.0 for shift in (0, 4, 8, 16, 24, 48)},
    "by_length": dict.fromkeys(("1–8", "9–11", "12–15", "16–40"), 20.0),
    "entropy": {"encoder": 1.0, "decoder": 1.0, "cross": 1.0},
    **dict.fromkeys(("one clause", "two clauses", "gap", "mean_entropy", "first_grad_norm"), 1.0),
    "losses": [3.0, 2.0, 1.0],
    "parameters": 1000,
}
"""Every number that an evaluation of some study has."""
HOLD_WITHOUT_DIFFERENCE = {"positions": {0, 1, 2}, "warmup": {1}, "norms": {3}, "residuals": {0}}
"""Claims that something is equal, or not worse."""


def scale(value: Any, factor: float) -> Any:
    """Multiply all numbers of an evaluation."""
    if isinstance(value, Mapping):
        return {name: scale(element, factor) for name, element in value.items()}
    return [scale(element, factor) for element in value] if isinstance(value, list) else value * factor


def measure_without_training(name: str, folder: Path, factor: Callable[[str], float]) -> dict[str, Any]:
    """Return the values of a study whose runs all have the same evaluation, times a factor of each setting."""
    module = import_module(f"studies.{name}.study")

    def train_nothing(plan: TrainingPlan, options: MeasureOptions) -> dict[str, list[Any]]:
        return {
            setting: [scale(EVALUATION, factor(setting) * (1 + 1e-3 * seed)) for seed in options.seeds]
            for setting in plan.settings
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "train_all", train_nothing)
        patch.setattr(module, "gradient_ratio", lambda *_, **__: 0.5, raising=False)  # of residuals, before training
        values: dict[str, Any] = module.measure(MeasureOptions(seeds=SEEDS, runs=folder))
    return values


def needs_multi30k(name: str) -> Any:
    absent = name in ("smoothing", "bottleneck") and not MULTI30K.is_dir()
    return pytest.param(name, marks=pytest.mark.skipif(absent, reason=f"no {MULTI30K}"))


NAMES = ["bottleneck", "depth_width", "dropout", "heads", "norms"]
NAMES += ["positions", "residuals", "smoothing", "tied", "warmup"]
STUDIES = [needs_multi30k(name) for name in NAMES if name in study_names()]


@pytest.mark.parametrize("name", STUDIES)
def test_without_a_difference_no_claim_of_a_difference_holds(name: str, tmp_path: Path) -> None:
    values = measure_without_training(name, tmp_path, lambda _setting: 1.0)
    claims = load_study(name).claims(values)
    holding = {i for i, claim in enumerate(claims) if claim.verdict in ("holds", "partly")}
    if name == "residuals":  # gradients without residuals should vanish, and those given do not
        holding -= {2}
    assert holding == HOLD_WITHOUT_DIFFERENCE.get(name, set())


@pytest.mark.parametrize("name", STUDIES)
def test_pages_and_figure_are_complete_in_both_languages(name: str, tmp_path: Path) -> None:
    study = load_study(name)
    values = measure_without_training(name, tmp_path, lambda setting: 1 + 0.01 * len(setting))
    results = {
        "values": values,
        "seeds": SEEDS,
        "command": f"python -m studies {name}",
        "seconds": 60.0,
        **dict.fromkeys(("cpu", "cores", "date"), "x"),
        "versions": {"tongsa": "0"},
    }
    for language in LANGUAGES:
        text = (study.folder / STUDY_PAGES[language]).read_text("utf-8")
        page = study_page(study, results, text, language)
        assert all(f"<!-- table: {table} -->" in page for table in study.tables)
        assert page.count("\n| ") > len(study.claims(values)) + 2
    assert render(study, values, "svg").startswith(b"<?xml")


@pytest.mark.parametrize(
    ("name", "worse", "claim"),
    [
        ("warmup", "post-norm, no warm-up", 0),
        ("heads", "1 head", 0),
        ("heads", "16 heads", 1),
        ("tied", "separate, √d", 0),
        ("tied", "tied, no √d", 1),
        ("norms", "batch", 0),
        ("norms", "batch, one sentence", 1),
        ("norms", "none", 2),
        ("dropout", "dropout 0.0", 0),
    ],
)
def test_a_claim_holds_if_the_setting_is_worse_as_it_says_and_fails_if_it_is_better(
    name: str, worse: str, claim: int, tmp_path: Path
) -> None:
    def verdict(factor: float) -> str:
        values = measure_without_training(name, tmp_path, lambda setting: factor if setting == worse else 1.0)
        return load_study(name).claims(values)[claim].verdict

    assert verdict(1.5) == "holds"  # a higher perplexity
    assert verdict(0.5) == "fails"


@pytest.mark.parametrize("name", STUDIES)
def test_every_setting_makes_a_valid_recipe(name: str, tmp_path: Path) -> None:
    module = import_module(f"studies.{name}.study")
    plans: list[TrainingPlan] = []

    def keep_plan(plan: TrainingPlan, _: MeasureOptions) -> dict[str, list[Any]]:
        plans.append(plan)
        return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "train_all", keep_plan)
        patch.setattr(module, "gradient_ratio", lambda *_, **__: 0.5, raising=False)
        module.measure(MeasureOptions(seeds=SEEDS, runs=tmp_path))
    for plan in plans:
        for changes in plan.settings.values():
            resolve_recipe(plan.recipe or demo_recipe_path(), settings=[*plan.shared, *changes])
