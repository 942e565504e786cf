"""A run: its folder, recipe, data and model."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tongsa import bundle, config, storage
from tongsa.bundle import Bundle
from tongsa.data.array_files import ArrayFiles
from tongsa.data.prepared_folder import content_key
from tongsa.data.training_profile import TrainingProfile
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import EvaluationConfig
from tongsa.evaluation.metrics import bleu_tokenizer
from tongsa.interface import named_tensors
from tongsa.program import format_command
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import PreparedData, prepare_data
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.model_size import check_model_size
from tongsa.runs.recipe import Recipe, parse_recipe
from tongsa.runs.update_batches import fit_workers
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext
from tongsa.visualize.probe import MAX_SOURCE_TOKENS

RESTORE_SETTINGS = "Restore the file from a copy, or start a new run."


@dataclass(frozen=True)
class Run:
    """Folder, recipe, data and model of a run. Only the weights of the model change."""

    folder: Path
    recipe: Recipe
    data: PreparedData
    bundle: Bundle
    is_adapted: bool = False
    """All weights come from `training.init_from`: the model is validated before step 1."""

    @property
    def evaluation_config(self) -> EvaluationConfig:
        """Metrics of the run and the tokenization for BLEU."""
        data = self.recipe.data
        return EvaluationConfig(metrics=data.metrics, tokenize=bleu_tokenizer(data.target_language))


def create_run(folder: Path, recipe: Recipe, data: PreparedData) -> Run:
    """Build the model of a run with initial weights, which depend on recipe and data only.

    Before memory is taken, its size is compared with the checkpoints of the folder and with the memory that is free.
    """
    _check_compatibility(recipe, data)
    check_model_size(folder, recipe, (len(data.source_tokenizer), len(data.target_tokenizer)))
    torch.manual_seed(recipe.training.seed)
    try:
        model = recipe.model.build(len(data.source_tokenizer), len(data.target_tokenizer))
    except ValueError as error:
        raise InputError(f"model: {error}") from None
    if recipe.data.max_tokens >= model.max_positions:
        raise InputError(
            f"data.max_tokens {recipe.data.max_tokens}: more than model.max_positions {model.max_positions} allows. "
            f"Write at most {model.max_positions - 1}."
        )
    new_bundle = Bundle(
        kind=recipe.kind,
        config=recipe.model,
        model=model.to(torch.device(recipe.training.device)),
        source_tokenizer=data.source_tokenizer,
        target_tokenizer=data.target_tokenizer,
        decoding=recipe.decoding,
        source_language=recipe.data.source_language,
        target_language=recipe.data.target_language,
        metrics=recipe.data.metrics,
        profile=_training_profile(recipe, data) if data.task != "language_model" else None,
        term_replacement=bool(recipe.data.term_replacement),
    )
    check_probes(recipe.training, new_bundle)
    return Run(folder, recipe, data, new_bundle)


def check_probes(training: TrainingConfig, bundle: Bundle) -> None:
    """Raise InputError if a sentence of `training.probe` has too many tokens to be recorded."""
    limit = min(MAX_SOURCE_TOKENS, bundle.model.max_positions - 1)
    for i, tokens in enumerate(bundle.source_tokenizer.encode_all(training.probe)):
        if len(tokens) > limit:
            raise InputError(
                f"training.probe[{i}]: {len(tokens)} tokens of this run's tokenizer. "
                f"Give a sentence of at most {limit} tokens."
            )


def _training_profile(recipe: Recipe, data: PreparedData) -> TrainingProfile:
    language = recipe.data.source_language
    longest_source = int(data.examples.source.lengths.max())

    def fill(arrays: ArrayFiles) -> None:
        arrays.restore_progress()
        arrays.append("profile", TrainingProfile.from_pairs(data.train, longest_source, language).to_bytes())

    key = content_key("profile", data.train.key, longest_source, language)
    arrays = data.preparation.for_pairs(data.train).prepare(f"profile-{key}", fill)
    return TrainingProfile.from_bytes(arrays.read("profile", "u1").tobytes(), language)


def _check_compatibility(recipe: Recipe, data: PreparedData) -> None:
    """Check settings that depend on each other across sections."""
    if getattr(recipe.model, "tie_embeddings", "") == "all" and data.target_tokenizer is not data.source_tokenizer:
        raise InputError(
            'model.tie_embeddings = "all": needs one vocabulary. '
            'Write model.tie_embeddings = "target", or tokenizer.shared = true.'
        )
    metrics = {"seq2seq": recipe.data.metrics, "classification": ("accuracy", "macro_f1"), "language_model": ()}
    choices = ("auto", "loss", *metrics[data.task])
    if recipe.training.best_metric not in choices:
        raise InputError(
            f"training.best_metric {recipe.training.best_metric!r}: not measured. Choose from {', '.join(choices)}"
            + (", or add it to data.metrics." if data.task == "seq2seq" else ".")
        )


def open_run(folder: Path, distributed: DistributedContext = SINGLE_PROCESS, reader: CorpusReader | None = None) -> Run:
    """Load an existing run from its run.toml; the weights are the initial ones."""
    settings = folder / "run.toml"
    if not settings.is_file():
        raise InputError(
            f"{folder}: not a run (no run.toml). Start one with: {format_command('train … --run {}', folder)}"
        )
    recipe = parse_recipe(config.read_folder_toml(settings, RESTORE_SETTINGS), str(settings))
    if not recipe.data.train_files:
        raise InputError(f"{settings}: data.train is empty. Restore the file, or start a new run.")
    recipe = replace(recipe, training=configure_hardware(recipe.training, distributed))
    if fit_workers(recipe.training, distributed.world_size) != recipe.training:
        batches = recipe.training.grad_accumulation
        choice = f"a divisor of {batches}" if recipe.training.shard else f"at most {batches}"
        raise InputError(
            f"{folder}: {distributed.world_size} workers cannot share an update of {batches} batches "
            f"(training.grad_accumulation). Use {choice} with --workers."
        )
    return create_run(folder, recipe, prepare_data(recipe, folder, distributed, reader))


@torch.no_grad()
def load_initial_weights(run: Run) -> tuple[Run, str]:
    """Copy the weights of `training.init_from` with equal name and shape; return the run and their number in words."""
    init_from, data = run.recipe.training.init_from, run.data
    initial, tensors = bundle.load_bundle(Path(init_from)), named_tensors(run.bundle.model)
    tokenizers = (initial.source_tokenizer, data.source_tokenizer), (initial.target_tokenizer, data.target_tokenizer)
    if any(theirs.model_bytes != ours.model_bytes for theirs, ours in tokenizers):
        raise InputError(
            f"training.init_from {init_from}: that model has another tokenizer or other labels. "
            f"Write tokenizer.reuse_from = {init_from!r}."
        )
    matching = {
        name: value
        for name, value in named_tensors(initial.model).items()
        if name in tensors and tensors[name].shape == value.shape
    }
    if not matching:
        raise InputError(
            f"training.init_from {init_from}: no weights of that model have the shapes of this one. "
            "Write the same sizes in [model]."
        )
    for name, value in matching.items():
        tensors[name].copy_(value)
    message = f"{len(matching)} of {len(tensors)} weights are initialized from {init_from}"
    return replace(run, is_adapted=len(matching) == len(tensors)), message


def write_settings(run: Run) -> None:
    storage.write_text(run.folder / "run.toml", config.dump_toml(run.recipe.to_table()))
