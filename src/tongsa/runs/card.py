"""card.md: what a model is, what it was made from, and what it scores."""

from collections.abc import Mapping
from pathlib import Path

from tongsa.bundle import Bundle
from tongsa.evaluation.evaluate import EvaluationReport
from tongsa.runs.recipe import Recipe
from tongsa.training.checkpoint import TrainingProgress


def model_card(recipe: Recipe, bundle: Bundle, progress: TrainingProgress, report: EvaluationReport, file_hashes: Mapping[str, str]) -> str:
    languages = f"{recipe.data.source_language or 'source'} → {recipe.data.target_language or 'target'}"
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    rows = "\n".join(f"| {name} | {score.value:.2f} | `{score.signature}` |" for name, score in report.scores.items())
    files = "\n".join(f"| {Path(path).name} | `{digest}` |" for path, digest in file_hashes.items())
    return f"""# {languages}: {bundle.kind}

{parameters:,} parameters, {len(bundle.source_tokenizer):,} source pieces and a target vocabulary of {len(bundle.target_tokenizer):,}
({recipe.tokenizer.model}{", jamo" if recipe.tokenizer.jamo else ""}), seed {recipe.training.seed}.
Best of its run at step {progress.best_step:,} of {recipe.training.steps:,}, after {progress.tokens:,} target pieces.

## Scores on the development set ({report.sentences:,} pairs)
| score | value | signature |
|---|--:|---|
{rows}

## Data
| file | sha256 |
|---|---|
{files}
"""
