"""A run: its folder, and all that it stands on."""

from dataclasses import dataclass
from pathlib import Path

import torch

from tongsa import bundle, config, files
from tongsa.bundle import Bundle
from tongsa.errors import InputError
from tongsa.evaluation.metrics import tokenisation
from tongsa.evaluation.report import How
from tongsa.experiment.data import Data
from tongsa.experiment.recipe import Recipe
from tongsa.interface import weights


@dataclass(frozen=True)
class Run:
    """All that a run stands on; nothing in it changes but the numbers of the model."""

    folder: Path
    recipe: Recipe
    data: Data
    bundle: Bundle

    @property
    def how(self) -> How:
        """How its translations are scored."""
        return How(scores=self.recipe.data.scores, tokenise=tokenisation(self.recipe.data.target_language))


def created(folder: Path, recipe: Recipe, data: Data) -> Run:
    """A run before its first step; the same recipe and data always give the same weights."""
    _check(recipe, data)
    torch.manual_seed(recipe.training.seed)
    try:
        model = recipe.model.build(len(data.source), len(data.target))
    except ValueError as error:
        raise InputError(f"model: {error}") from None
    if recipe.data.longest >= model.longest:
        raise InputError(
            f"data.longest {recipe.data.longest} does not fit into model.longest {model.longest}: lower it"
        )
    made = Bundle(
        kind=recipe.kind,
        config=recipe.model,
        model=model.to(torch.device(recipe.training.device)),
        source=data.source,
        target=data.target,
        decoding=recipe.decoding,
        source_language=recipe.data.source_language,
        target_language=recipe.data.target_language,
        scores=recipe.data.scores,
    )
    return Run(folder, recipe, data, made)


@torch.no_grad()
def taken_over(run: Run) -> str:
    """The weights of `training.begin` put in wherever name and size are the same, and a remark about how many are."""
    place = run.recipe.training.begin
    begun, own = bundle.load(Path(place)), weights(run.bundle.model)
    same = begun.source.model == run.data.source.model and begun.target.model == run.data.target.model
    if not same:
        raise InputError(
            f"training.begin {place}: has other pieces or labels than this run: write pieces.reuse = {place!r}"
        )
    found = {
        name: value for name, value in weights(begun.model).items() if name in own and own[name].shape == value.shape
    }
    if not found:
        raise InputError(f"training.begin {place}: no part of this model has its sizes there; write the same [model]")
    for name, value in found.items():
        own[name].copy_(value)
    return f"{len(found)} of {len(own)} parts of the model begin as in {place}"


def _check(recipe: Recipe, data: Data) -> None:
    """What only shows when model, data and training meet."""
    if getattr(recipe.model, "share", "") == "all" and data.target is not data.source:
        raise InputError(
            'model.share = "all" needs one vocabulary: write model.share = "target" or pieces.shared = true'
        )
    measured = {"pairs": recipe.data.scores, "labels": ("accuracy", "macro_f1"), "text": ()}[data.task]
    known = ("auto", "loss", *measured)
    if recipe.training.criterion not in known:
        raise InputError(
            f"training.criterion {recipe.training.criterion!r} is not measured here; choose from {', '.join(known)}"
            + (", or name it in data.scores too" if data.task == "pairs" else "")
        )


def write_settings(run: Run) -> None:
    files.write_text(run.folder / "run.toml", config.dump(run.recipe.table()))
