"""Size of a model before it is built: its tensors on the meta device, compared with the checkpoints and with memory."""

from pathlib import Path

import torch

from tongsa import system
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder, named_tensors
from tongsa.models.own_kind import is_own_kind
from tongsa.runs.recipe import Recipe
from tongsa.tensor_file import TensorMismatchError, build_on_meta
from tongsa.training.checkpoint import check_headers
from tongsa.training.config import TrainingConfig


def check_model_size(folder: Path, recipe: Recipe, vocab_sizes: tuple[int, int]) -> None:
    """Raise InputError if the model is not that of the run's checkpoints, or cannot be trained in this memory.

    A kind of the user's own may have no form on the meta device; it is not checked then.
    """
    try:
        model = build_on_meta(lambda: recipe.model.build(*vocab_sizes), is_own_kind=False)
    except TensorMismatchError as error:
        if is_own_kind(recipe.kind):
            return
        raise InputError(f"model: {error}") from None
    check_headers(folder / "checkpoints", model)
    needed, available = training_bytes(model, recipe.training), system.available_memory()
    if available is not None and needed > available:
        parameters = sum(parameter.numel() for parameter in model.parameters())
        raise InputError(
            f"model: {parameters:,} parameters take {needed / 1e9:,.1f} GB of memory to train, and "
            f"{available / 1e9:,.1f} GB are available. Choose smaller sizes in [model], or another machine."
        )


def training_bytes(model: EncoderDecoder, training: TrainingConfig) -> int:
    """Return the least memory of a training in bytes: weights, gradients, moments and average, without activations.

    On a GPU, and for a sharded model, this machine's memory holds only the weights.
    """
    weights = sum(tensor.numel() * tensor.element_size() for tensor in named_tensors(model).values())
    if torch.device(training.device).type != "cpu" or training.shard:
        return weights
    trained = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    moments = 1 if training.optimizer == "muon" else 2
    return weights + (1 + moments) * trained + (weights if training.ema else 0)
