"""Model card (card.md): model, training data and scores."""

from collections.abc import Mapping
from pathlib import Path

from tongsa.bundle import Bundle
from tongsa.evaluation.evaluate import EvaluationReport
from tongsa.runs.recipe import Recipe
from tongsa.training.checkpoint import TrainingProgress


def model_card(
    recipe: Recipe,
    bundle: Bundle,
    progress: TrainingProgress,
    report: EvaluationReport,
    file_hashes: Mapping[str, str],
) -> str:
    languages = f"{recipe.data.source_language or 'source'} → {recipe.data.target_language or 'target'}"
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    vocab_sizes = f"{len(bundle.source_tokenizer):,} source and {len(bundle.target_tokenizer):,} target"
    tokenizer = f"{recipe.tokenizer.model}{', jamo' if recipe.tokenizer.jamo else ''}"
    rows = "\n".join(f"| {name} | {score.value:.2f} | `{score.signature}` |" for name, score in report.scores.items())
    files = "\n".join(f"| {Path(path).name} | `{digest}` |" for path, digest in file_hashes.items())
    dataset = f"{recipe.data.dataset}\n\n" if recipe.data.dataset else ""
    return f"""# {languages}: {bundle.kind}

{parameters:,} parameters; vocabularies of {vocab_sizes} tokens ({tokenizer}); seed {recipe.training.seed}.
Best step {progress.best_step:,} of {recipe.training.steps:,}, after {progress.tokens:,} target tokens.

## Scores on the development set ({report.sentences:,} pairs)
| metric | value | signature |
|---|--:|---|
{rows}

## Data
{dataset}| file | sha256 |
|---|---|
{files}
"""
