"""A run: its folder, and all that it stands on."""

from dataclasses import dataclass
from pathlib import Path

import torch

from tongsa import bundle, config, storage
from tongsa.bundle import Bundle
from tongsa.errors import InputError
from tongsa.evaluation.metrics import bleu_tokenizer
from tongsa.evaluation.evaluate import EvaluationConfig
from tongsa.runs.data import PreparedData
from tongsa.runs.recipe import Recipe
from tongsa.interface import named_tensors


@dataclass(frozen=True)
class Run:
    """All that a run stands on; nothing in it changes but the numbers of the model."""

    folder: Path
    recipe: Recipe
    data: PreparedData
    bundle: Bundle

    @property
    def evaluation_config(self) -> EvaluationConfig:
        """How its translations are scored."""
        return EvaluationConfig(metrics=self.recipe.data.metrics, tokenize=bleu_tokenizer(self.recipe.data.target_language))


def create_run(folder: Path, recipe: Recipe, data: PreparedData) -> Run:
    """A run before its first step; the same recipe and data always give the same weights."""
    _check_compatibility(recipe, data)
    torch.manual_seed(recipe.training.seed)
    try:
        model = recipe.model.build(len(data.source_tokenizer), len(data.target_tokenizer))
    except ValueError as error:
        raise InputError(f"model: {error}") from None
    if recipe.data.max_tokens >= model.max_positions:
        raise InputError(
            f"data.max_tokens {recipe.data.max_tokens} does not fit into model.max_positions {model.max_positions}: lower it"
        )
    made = Bundle(
        kind=recipe.kind,
        config=recipe.model,
        model=model.to(torch.device(recipe.training.device)),
        source_tokenizer=data.source_tokenizer,
        target_tokenizer=data.target_tokenizer,
        decoding=recipe.decoding,
        source_language=recipe.data.source_language,
        target_language=recipe.data.target_language,
        metrics=recipe.data.metrics,
    )
    return Run(folder, recipe, data, made)


@torch.no_grad()
def load_initial_weights(run: Run) -> str:
    """The weights of `training.init_from` put in wherever name and size are the same, and a remark about how many are."""
    place = run.recipe.training.init_from
    begun, own = bundle.load_bundle(Path(place)), named_tensors(run.bundle.model)
    same = begun.source_tokenizer.model_bytes == run.data.source_tokenizer.model_bytes and begun.target_tokenizer.model_bytes == run.data.target_tokenizer.model_bytes
    if not same:
        raise InputError(
            f"training.init_from {place}: has other pieces or labels than this run: write tokenizer.reuse_from = {place!r}"
        )
    found = {
        name: value for name, value in named_tensors(begun.model).items() if name in own and own[name].shape == value.shape
    }
    if not found:
        raise InputError(f"training.init_from {place}: no part of this model has its sizes there; write the same [model]")
    for name, value in found.items():
        own[name].copy_(value)
    return f"{len(found)} of {len(own)} parts of the model begin as in {place}"


def _check_compatibility(recipe: Recipe, data: PreparedData) -> None:
    """What only shows when model, data and training meet."""
    if getattr(recipe.model, "tie_embeddings", "") == "all" and data.target_tokenizer is not data.source_tokenizer:
        raise InputError(
            'model.tie_embeddings = "all" needs one vocabulary: write model.tie_embeddings = "target" or tokenizer.shared = true'
        )
    measured = {"seq2seq": recipe.data.metrics, "classification": ("accuracy", "macro_f1"), "language_model": ()}[data.task]
    known = ("auto", "loss", *measured)
    if recipe.training.best_metric not in known:
        raise InputError(
            f"training.best_metric {recipe.training.best_metric!r} is not measured here; choose from {', '.join(known)}"
            + (", or name it in data.metrics too" if data.task == "seq2seq" else "")
        )


def write_settings(run: Run) -> None:
    storage.write_text(run.folder / "run.toml", config.dump_toml(run.recipe.to_table()))
