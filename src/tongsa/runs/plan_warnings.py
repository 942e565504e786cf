"""Warnings about a plan before the first step, and about overfitting at a validation: what is seen and what to do."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import mean
from typing import Any

from tongsa.batch import epoch_order
from tongsa.runs.epoch_examples import EpochExamples
from tongsa.runs.run import Run

MIN_STEPS = 100
"""With fewer steps in a time budget, a warning."""
OVERFITTING_LOSS = 0.02
"""Rise of the dev loss above its minimum, in nats per token, that counts as overfitting."""


def plan_warnings(run: Run, time_budget: float = inf) -> Iterator[str]:
    """Yield a sentence for each reason why the plan of a run cannot give a useful model."""
    training = run.recipe.training
    if time_budget < inf and training.steps < MIN_STEPS:
        yield (
            f"training.steps: {training.steps:,} fit into the time budget, too few to learn. Give more time, "
            "for example --budget 5m"
        )
    epoch_steps = count_epoch_steps(run)
    if training.steps < epoch_steps:
        remedy = "a longer --budget, or a smaller model" if time_budget < inf else f"--set training.steps={epoch_steps}"
        yield (
            f"training.steps: {training.steps:,} of the {epoch_steps:,} that read the training data once "
            f"({training.steps / epoch_steps:.0%}). Give {remedy}."
        )


def count_epoch_steps(run: Run) -> int:
    """Return the number of updates that read each training example once."""
    training = run.recipe.training
    examples = EpochExamples(run.data, run.recipe).clean(0)
    batches = epoch_order(examples.lengths, batch_tokens=training.batch_tokens, seed=training.seed, epoch=0)
    return -(-len(batches) // training.grad_accumulation)


def overfitting_warning(records: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a sentence at the first validation of a journal whose dev loss rises while the train loss falls.

    The journal ends with that validation. At later ones the answer is None, also in a resumed run.
    """
    validations = list(_validations(records))
    overfitted = [step for step in range(1, len(validations)) if _is_overfitted(validations[: step + 1])]
    if overfitted[:1] != [len(validations) - 1]:
        return None
    best_step, best_loss, _ = min(validations, key=lambda validation: validation[1])
    return (
        f"overfitting: the dev loss rises ({best_loss:.3f} at step {best_step:,}, now {validations[-1][1]:.3f}) while "
        "the training loss falls. The best model so far is kept. More data help; or fewer steps (training.steps), "
        "more dropout (model.dropout), early stopping (training.patience)."
    )


def _validations(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, float, float]]:
    """Yield step, dev loss, and mean training loss since the validation before."""
    losses: list[float] = []
    for record in records:
        if "validation" in record and losses:
            yield record["step"], record["validation"]["dev_loss"], mean(losses)
            losses = []
        elif "loss" in record:
            losses.append(record["loss"])


def _is_overfitted(validations: Sequence[tuple[int, float, float]]) -> bool:
    """Return whether the last two dev losses are above the best one while the training loss has fallen since.

    One rise alone is often noise.
    """
    _, best_dev_loss, best_train_loss = min(validations, key=lambda validation: validation[1])
    are_above = all(dev_loss > best_dev_loss + OVERFITTING_LOSS for _, dev_loss, _ in validations[-2:])
    return are_above and validations[-1][2] < best_train_loss
