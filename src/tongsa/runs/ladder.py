"""The road of papers on one data set: every model with the same tokenizer, data, time and number of parameters.

A ladder is a training grid over named models. Its folder has the files of a grid, and

    data/                the train, dev and test sets of all models, and their target side alone
    ladder.md, .json     scores on the test set, and by length of the source
    compare.html         the comparison of all models that read a source (`tongsa compare`)
    family.html          one sentence through all models, with their attention, over the training
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tongsa.errors import InputError
from tongsa.interface import Task
from tongsa.runs.grid import train_grid
from tongsa.runs.grid_plan import DataFiles, GridPlan, Variant
from tongsa.runs.ladder_data import FORMAT_KEYS, LadderData, prepare_ladder_data
from tongsa.runs.ladder_report import LadderReport, write_ladder_report

DEFAULT_BUDGET = "2m"
"""Time of each run: seven models, their plans and their scores then take less than 20 minutes on two cores."""
QUICK_SETTINGS = ("training.steps=30", "training.validate_sentences=20", "decoding.beam=1")
"""Settings of a quick ladder, which only shows that everything works."""


@dataclass(frozen=True)
class LadderModel:
    """A model on the road, and whose idea it is."""

    name: str
    title: str
    settings: tuple[str, ...]


SUTSKEVER_SETTINGS = tuple(
    f"model.{setting}"
    for setting in ("kind=rnn", "cell=lstm", "context_input=start", "output=linear", "reverse_source=true")
)
LANGUAGE_MODEL = LadderModel("rnn-lm", "RNN language model", ("model.kind=rnn_lm",))
MODELS: dict[Task, tuple[LadderModel, ...]] = {
    "seq2seq": (
        LANGUAGE_MODEL,
        LadderModel("cho", "Cho et al. 2014", ("model.kind=rnn",)),
        LadderModel("sutskever", "Sutskever et al. 2014", SUTSKEVER_SETTINGS),
        LadderModel("bahdanau", "Bahdanau et al. 2015", ("model.kind=rnn_attention",)),
        LadderModel("conv-s2s", "Gehring et al. 2017", ("model.kind=conv_s2s",)),
        LadderModel("lin", "Lin et al. 2017", ("model.kind=structured_self_attention", "model.head=decoder")),
        LadderModel("transformer", "Vaswani et al. 2017", ("model.kind=transformer",)),
    ),
    "classification": (
        LadderModel("lin", "Lin et al. 2017", ("model.kind=structured_self_attention",)),
        LadderModel("transformer", "Vaswani et al. 2017", ("model.kind=transformer_classifier",)),
    ),
}
"""The models by task, in the order of their papers."""


@dataclass(frozen=True, kw_only=True)
class LadderPlan:
    """Arguments of a ladder."""

    folder: Path
    data: DataFiles
    """Pairs, or texts with labels. Missing dev and test sets are split off from train."""
    settings: tuple[str, ...] = ()
    """Assignments as for `--set`, of all models."""
    seeds: tuple[int, ...] = (1,)
    budget: str | None = None
    """Time of each run; by default DEFAULT_BUDGET, unless `training.steps` is set."""
    quick: bool = False
    """Few pairs and few steps."""
    models: tuple[str, ...] = ()
    """Names of the models; by default all of the task."""
    tokenize: str = ""
    """SacreBLEU's tokenizer for BLEU on the test set; by default chosen by the target language."""
    executor: Literal["local", "ray"] = "local"
    command: str = ""
    """The command that makes this ladder, for messages."""

    def __post_init__(self) -> None:
        if self.quick and self.budget:
            raise InputError(f"--budget {self.budget}: a quick ladder has a fixed number of steps. Leave it out.")


def train_ladder(plan: LadderPlan, *, quiet: bool = False) -> LadderReport:
    """Train the models that have not finished, score all of them, and write the report.

    Ctrl-C saves a checkpoint and raises InterruptedRun; the same call continues.
    """
    data = prepare_ladder_data(plan.folder / "data", plan.data, plan.settings, quick=plan.quick)
    models = _select_models(plan, data)
    runs = train_grid(ladder_grid(plan, data, models), quiet=quiet)
    titles = {model.name: model.title for model in models}
    return write_ladder_report(plan.folder, runs, data, titles, plan.tokenize)


def _select_models(plan: LadderPlan, data: LadderData) -> tuple[LadderModel, ...]:
    models = MODELS[data.task]
    names = [model.name for model in models]
    if unknown := [name for name in plan.models if name not in names]:
        raise InputError(f"--models {unknown[0]}: not a model of this task. Choose from {', '.join(names)}.")
    return tuple(model for model in models if not plan.models or model.name in plan.models)


def ladder_grid(plan: LadderPlan, data: LadderData, models: Sequence[LadderModel]) -> GridPlan:
    """Return the grid of a ladder: each model is a setting of it."""
    settings = [setting for setting in plan.settings if setting.partition("=")[0].strip() not in FORMAT_KEYS]
    has_steps = any(setting.partition("=")[0].strip() == "training.steps" for setting in settings)
    probe = f"training.probe={json.dumps([data.probe.source], ensure_ascii=False)}"
    quick = QUICK_SETTINGS if plan.quick else ()
    return GridPlan(
        folder=plan.folder,
        data=replace(data.pairs, test=()),  # scored in the report, once for all models
        settings=(probe, *quick, *settings),
        variants=tuple(_variant(model, data, models) for model in models),
        seeds=plan.seeds,
        budget=None if plan.quick or has_steps else plan.budget or DEFAULT_BUDGET,
        preset="tiny" if plan.quick else None,
        executor=plan.executor,
        command=plan.command,
    )


def _variant(model: LadderModel, data: LadderData, models: Sequence[LadderModel]) -> Variant:
    if model is not LANGUAGE_MODEL:
        return Variant(name=model.name, settings=model.settings)
    others = [other.name for other in models if other is not LANGUAGE_MODEL]
    return Variant(
        name=model.name,
        settings=(*model.settings, "training.best_metric=auto", "training.probe=[]"),
        data=replace(data.texts, test=()),
        tokenizer_of=others[0] if others else "",
    )
