"""Budgets: measure a few updates of a run, then fit its steps to a time limit or its batches to a memory limit."""

import copy
from dataclasses import replace
from time import perf_counter

from tongsa.batch import epoch_order
from tongsa.evaluation.evaluate import evaluate
from tongsa.runs.epoch_examples import EpochExamples
from tongsa.runs.planner import MAX_VALIDATIONS, fit_intervals
from tongsa.runs.recipe import Recipe, broadcast_recipe
from tongsa.runs.run import Run
from tongsa.runs.update_speed import measure_update_seconds
from tongsa.runs.validation import validation_pairs
from tongsa.training.data_loader import iterate_batches
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext
from tongsa.training.loop import DataPosition
from tongsa.training.micro_batches import find_micro_batch_tokens

MAX_PROBE_UPDATES = 24
"""Updates to measure the speed; the first half is warm-up."""
PROBE_BUDGET_FRACTION = 0.05
"""Fraction of the time budget for these updates."""
RESERVED_BUDGET_FRACTION = 0.03
"""Fraction of the time budget kept for work that is not measured."""
VALIDATION_BUDGET_FRACTION = 0.15
"""Fraction of the time budget for validations."""
MIN_VALIDATION_SENTENCES = 32
"""Sentences translated in a validation, however short the budget."""


def fit_memory_limit(run: Run, distributed: DistributedContext = SINGLE_PROCESS) -> Recipe:
    """Return the recipe with the largest micro-batches that fit `training.memory_limit_mib`, measured on rank 0."""
    training = run.recipe.training

    def measure() -> str:
        examples = EpochExamples(run.data, run.recipe).clean(0)
        lengths = examples.lengths
        batches = epoch_order(lengths, batch_tokens=training.batch_tokens, seed=training.seed, epoch=0)
        largest = max(batches, key=lambda rows: len(rows) * int(lengths[rows].max(axis=0).sum()))
        return str(find_micro_batch_tokens(run.bundle.model, examples.batch(largest), training))

    micro_batch_tokens = int(distributed.broadcast_text(measure))
    return replace(run.recipe, training=replace(training, micro_batch_tokens=micro_batch_tokens))


def fit_time_budget(
    run: Run, time_budget: float, started_at: float, distributed: DistributedContext = SINGLE_PROCESS
) -> Recipe:
    """Return the recipe with steps, validations and lr decay for the time that is left of the budget."""
    update_seconds = _measure_update_seconds(run, PROBE_BUDGET_FRACTION * time_budget, distributed)
    return broadcast_recipe(distributed, lambda: _plan_steps(run, time_budget, started_at, update_seconds))


def _plan_steps(run: Run, time_budget: float, started_at: float, update_seconds: float) -> Recipe:
    sentence_seconds = _measure_validation_seconds(run)
    remaining = time_budget * (1 - RESERVED_BUDGET_FRACTION) - (perf_counter() - started_at)
    affordable = int(remaining * VALIDATION_BUDGET_FRACTION / max(sentence_seconds, 1e-6))  # sentences
    sentences = len(validation_pairs(run))
    if run.data.task == "seq2seq" and sentences > affordable:  # a short budget: one validation on fewer sentences
        sentences = min(sentences, max(MIN_VALIDATION_SENTENCES, affordable))
    validations = max(1, min(MAX_VALIDATIONS, affordable // sentences))
    validated = validations + run.is_adapted  # an initial model is validated before step 1
    steps = max(1, int((remaining - validated * sentences * sentence_seconds) / update_seconds))
    training = replace(
        fit_intervals(steps, run.recipe.training),
        validate_every=-(-steps // validations),
        validate_sentences=sentences
        if sentences < len(validation_pairs(run))
        else run.recipe.training.validate_sentences,
        checkpoint_every=max(1, int(60 / update_seconds)),
    )
    return replace(run.recipe, training=training)


def _measure_update_seconds(run: Run, max_seconds: float, distributed: DistributedContext) -> float:
    """Return the mean time of an update, measured on a copy of the model."""
    training = run.recipe.training
    examples = EpochExamples(run.data, run.recipe)
    batches = iterate_batches(
        lambda epoch, _: examples(epoch),
        batch_tokens=training.batch_tokens,
        seed=training.seed + 1,
        start=DataPosition(),
    )
    return measure_update_seconds(
        copy.deepcopy(run.bundle.model),
        batches,
        training,
        max_updates=MAX_PROBE_UPDATES,
        max_seconds=max_seconds,
        distributed=distributed,
    )


def _measure_validation_seconds(run: Run) -> float:
    """Return the estimated time per sentence. An untrained model does not stop, so outputs are limited."""
    pairs = [(pair.source, pair.target) for pair in validation_pairs(run)]
    sample = pairs[:: max(1, len(pairs) // MIN_VALIDATION_SENTENCES)]
    limited = replace(run.bundle, decoding=replace(run.bundle.decoding, max_extra_tokens=0))
    started_at = perf_counter()
    evaluate(limited.text_model(), sample, run.evaluation_config)
    return (perf_counter() - started_at) / len(sample)
