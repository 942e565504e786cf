"""Model card (card.md): data, license, languages, training, scores and limits.

It begins with the YAML metadata that the Hugging Face Hub reads. Strings are written as JSON, which is valid YAML.
"""

import json
import math
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tongsa import storage
from tongsa.bounded_files import (
    MAX_TOML_BYTES,
    MAX_WEIGHTS_BYTES,
    UnreadableFileError,
    parse_json,
    read_bytes,
    read_lines,
)
from tongsa.data.public_sets.table import public_sets
from tongsa.evaluation.evaluate import EvaluationReport
from tongsa.evaluation.score_tables import format_interval
from tongsa.interface import Task
from tongsa.runs.data_checksums import read_data_checksums
from tongsa.runs.reporting import format_duration
from tongsa.runs.run import Run
from tongsa.training.checkpoint_files import TrainingProgress

CARD_FILE = "card.md"
PIPELINE_TAGS: dict[Task, str] = {
    "seq2seq": "translation",
    "classification": "text-classification",
    "language_model": "text-generation",
}
"""Names of the tasks on the Hub."""
TEST_HEADING = "## Scores on the test set"
LANGUAGE_CODE = re.compile("[a-z]{2,3}(-[A-Za-z0-9]+)*")
LICENSE_IDENTIFIER = re.compile("[a-z0-9.-]+")
LIMITS: dict[Task, str] = {
    "seq2seq": "It translates sentence by sentence. Text of another domain or language gives fluent, wrong output.",
    "classification": "It knows only the labels of its training data, and gives one of them to every text.",
    "language_model": "It continues text in the style of its training data. What it states may be false.",
}


def model_card(run: Run, progress: TrainingProgress, report: EvaluationReport) -> str:
    """Return the card of the best model so far, with its scores on the dev set."""
    bundle, data = run.bundle, run.recipe.data
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    vocab_sizes = f"{len(bundle.source_tokenizer):,} source and {len(bundle.target_tokenizer):,} target"
    tokenizer = f"{run.recipe.tokenizer.model}{', jamo' if run.recipe.tokenizer.jamo else ''}"
    return f"""{_metadata(run, report)}# {_title(run)}

{parameters:,} parameters; vocabularies of {vocab_sizes} tokens ({tokenizer}).
Languages: {data.source_language or "not stated"} → {data.target_language or "not stated"}.
License: {data.license or "not stated"}.

## Limits
{LIMITS[run.data.task]} Training pairs had at most {data.max_tokens:,} tokens on a side.
Only the scores below were measured.

## Training
{_training(run, progress)}

## Data
{_data(run)}

## Scores on the development set ({report.sentences:,} pairs)
{_score_table(report)}

Decoding: `{json.dumps(asdict(bundle.decoding))}`
"""


def add_test_scores(folder: Path, run: Run, report: EvaluationReport, leakage: str = "", label: str = "") -> None:
    """Add the scores on a test set to the card of a bundle, unless it has them already.

    `leakage` says how much of the test set is in the training data, `label` names the test set of a corpus.
    """
    card = read_bytes(folder / CARD_FILE, MAX_TOML_BYTES).decode("utf-8", "replace")
    heading = f"\n{TEST_HEADING}{f' `{label}`' if label else ''} ({report.sentences:,} pairs)\n"
    if heading in card or not card.startswith("---\n"):  # an older version of tongsa wrote no metadata
        return
    metadata, body = card.split("\n---\n", 1)
    remark = f"\n{leakage}\n" if leakage else ""
    section = f"{heading}{_score_table(report)}\n{remark}"
    hub_result = "" if label else _hub_result(run, report, "test")  # the metadata have one test set
    storage.write_text(folder / CARD_FILE, f"{metadata}\n{hub_result}---\n{body}{section}")


def _title(run: Run) -> str:
    data = run.recipe.data
    return f"{data.source_language or 'source'} → {data.target_language or 'target'}: {run.bundle.kind}"


def _metadata(run: Run, report: EvaluationReport) -> str:
    """Return the YAML block; its last entry is the list of results, so that more can be added."""
    data = run.recipe.data
    languages = [code for code in (data.source_language, data.target_language) if LANGUAGE_CODE.fullmatch(code)]
    lines = ["---", *_yaml_list("language", list(dict.fromkeys(languages)))]
    if data.license:
        is_identifier = LICENSE_IDENTIFIER.fullmatch(data.license)
        lines += (
            [f"license: {_quote(data.license)}"]
            if is_identifier
            else ["license: other", f"license_name: {_quote(data.license)}"]
        )
    lines += [f"pipeline_tag: {PIPELINE_TAGS[run.data.task]}", *_yaml_list("tags", ["tongsa", run.bundle.kind])]
    lines += _yaml_list("metrics", [name for name, score in report.scores.items() if math.isfinite(score.value)])
    lines += ["model-index:", f"- name: {_quote(_title(run))}", "  results:"]
    return "\n".join(lines) + f"\n{_hub_result(run, report, 'dev')}---\n"


def _hub_result(run: Run, report: EvaluationReport, split: str) -> str:
    """Return the scores on one set, as an entry of `model-index`."""
    data = run.recipe.data
    files = (data.test if split == "test" else data.dev) or data.train
    dataset = _dataset_title(data.dataset) or ", ".join(Path(file).name for file in files)
    lines = ["  - task:", f"      type: {PIPELINE_TAGS[run.data.task]}", "    dataset:"]
    lines += [f"      name: {_quote(dataset)}", "      type: custom", f"      split: {split}", "    metrics:"]
    for name, score in report.scores.items():
        if math.isfinite(score.value):
            lines += [
                f"    - type: {name}",
                f"      value: {score.value:.2f}",
                f"      name: {_quote(f'{name} ({split})')}",
            ]
            lines += ["      args:", f"        signature: {_quote(score.signature)}"]
    return "\n".join(lines) + "\n"


def _yaml_list(key: str, items: Sequence[str]) -> list[str]:
    return [f"{key}:", *(f"- {_quote(item)}" for item in items)] if items else []


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _training(run: Run, progress: TrainingProgress) -> str:
    training = run.recipe.training
    return (
        f"Best step {progress.best_step:,} of {training.steps:,}, after {progress.tokens:,} target tokens and "
        f"{format_duration(progress.seconds)}; seed {training.seed}.\n"
        f"Hardware: {training.device}; CPU threads: {training.threads}; precision: {training.precision}."
    )


def _data(run: Run) -> str:
    file_hashes = read_data_checksums(run.folder / "data.json")
    files = "\n".join(f"| {Path(path).name} | `{digest}` |" for path, digest in file_hashes.items())
    dataset = f"{_dataset_title(run.recipe.data.dataset)}\n\n" if run.recipe.data.dataset else ""
    counts = f"{len(run.data.train):,} training pairs, {len(run.data.dev):,} development pairs; {_drop_counts(run)}."
    return f"{dataset}{counts}\n\n| file | sha256 |\n|---|---|\n{files}"


def _drop_counts(run: Run) -> str:
    """Return the number of dropped pairs by reason, from the last line of the ledger."""
    try:
        (last_line,) = deque(read_lines(run.folder / "ledger.jsonl", MAX_WEIGHTS_BYTES), maxlen=1)
        dropped = {str(reason): int(count) for reason, count in parse_json(last_line)["totals"]["dropped"].items()}
    except (UnreadableFileError, ValueError, KeyError, TypeError, AttributeError):  # ValueError: also an empty ledger
        return "the ledger of dropped pairs is missing or damaged"
    reasons = ", ".join(f"{count:,} {reason.replace('-', ' ')}" for reason, count in dropped.items())
    return f"{sum(dropped.values()):,} dropped ({reasons})" if dropped else "none dropped"


def _score_table(report: EvaluationReport) -> str:
    """Return the scores as a table; those on the test set have intervals."""
    has_intervals = any(score.interval for score in report.scores.values())
    lines = ["| metric | value | signature |", "|---|--:|---|"]
    if has_intervals:
        lines = ["| metric | value | 95 % interval | signature |", "|---|--:|---|---|"]
    for name, score in report.scores.items():
        interval = f" {format_interval(score) or '–'} |" if has_intervals else ""
        lines.append(f"| {name} | {score.value:.2f} |{interval} `{_escape_pipes(score.signature)}` |")
    return "\n".join(lines)


def _escape_pipes(text: str) -> str:
    """Escape the character that separates the columns of a table, also inside code."""
    return text.replace("|", "\\|")


def _dataset_title(name: str) -> str:
    """Return title and address of a public set, or another name unchanged."""
    public_set = public_sets().get(name)
    return f"{public_set.title} ({public_set.home})" if public_set else name
