"""`tongsa demo`: train English → Korean on the shipped pairs, score unseen sentences, write a page of all views."""

import json
import shutil
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path
from time import perf_counter

import tongsa
from tongsa import config, runs, storage
from tongsa.decoding.translator import Translator
from tongsa.demo import write_splits
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import EvaluationConfig, EvaluationReport, evaluate
from tongsa.evaluation.metrics import bleu_tokenizer
from tongsa.program import format_command
from tongsa.runs.reporting import ProgressDisplay, format_duration
from tongsa.training.checkpoint_files import TrainingProgress
from tongsa.visualize.examples import translation_example
from tongsa.visualize.panels import examples_page

MARKER_FILE = ".tongsa-demo"
PRINTED_TRANSLATIONS = 12
PAGE_EXAMPLES = (
    "I love you",
    "<polite> I love you",
    "<casual> I love you",
    "I go home",
    "I will go home tomorrow",
    "I am ironman",
    "AI is awesome",
    "Are you free tomorrow?",
    "<casual> Are you free tomorrow?",
    "I went to the school",
    "I came back home",
    "I took a rest",
)
"""Sentences shown first on the page, before those of the test set."""
NAMING_SAMPLES = 40
"""Sentences of the test set by which the heads are named; they are not shown."""


def run_demo(run: Path, settings: Sequence[str] = ()) -> None:
    """Train, evaluate and draw; all files are in the folder of the run."""
    start = perf_counter()
    data = run / "data"
    progress = train_demo(run, settings)
    translator = tongsa.load(run, task="seq2seq")
    reports = {name: _evaluate_file(translator, data / f"{name}.tsv") for name in ("test", "test-long")}
    _write_scores(run, reports, progress, translator)
    _print_translations(reports["test"], data / "test.tsv")
    _write_page(run, translator, reports["test"], data / "test.tsv")
    _print_scores(run, reports, progress, perf_counter() - start)


def train_demo(run: Path, settings: Sequence[str] = (), *, quiet: bool = False) -> TrainingProgress:
    """Write the embedded pairs and train on them; resume an unfinished demo, replace a finished one."""
    display = ProgressDisplay(quiet=quiet)
    data, marker = run / "data", run / MARKER_FILE
    if run.exists() and any(run.iterdir()) and not marker.exists():
        raise InputError(f"{run}: not empty, and not made by tongsa demo. Choose another folder with --run.")
    if (run / "run.toml").exists() and not (run / "scores.json").exists():
        display.log(f"resuming the demo in {run}")
        return runs.resume(run, quiet=quiet)
    shutil.rmtree(run, ignore_errors=True)
    storage.write_text(marker, "This folder was made by `tongsa demo`, which may replace it.\n")
    with storage.explain_os_errors(run):
        paths = write_splits(data)
    display.log(f"{len(read_tsv_pairs(paths['train'])):,} English–Korean training pairs in {data}")
    folder = f"data.folder={json.dumps(str(data))}"
    return runs.train(demo_recipe_path(), run=run, settings=[folder, *settings], quiet=quiet)


def demo_recipe_path() -> Path:
    return Path(str(resources("tongsa.demo") / "demo.toml"))


def read_tsv_pairs(path: Path) -> list[tuple[str, str]]:
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines())
    return [(source, target) for source, target in rows]


def _evaluate_file(translator: Translator, path: Path) -> EvaluationReport:
    config = EvaluationConfig(tokenize=bleu_tokenizer("ko"))
    return evaluate(translator, read_tsv_pairs(path), config).with_intervals()


def _write_scores(
    run: Path, reports: dict[str, EvaluationReport], progress: TrainingProgress, translator: Translator
) -> None:
    scores: config.Table = {name: report.as_json() for name, report in reports.items()}
    scores |= {
        "train_seconds": round(progress.seconds, 1),
        "tokens_per_second": round(progress.tokens / progress.seconds),
        "parameters": sum(parameter.numel() for parameter in translator.model.parameters()),
    }
    storage.write_text(run / "scores.json", json.dumps(scores, indent=1, ensure_ascii=False))


def _print_translations(report: EvaluationReport, path: Path) -> None:
    pairs = read_tsv_pairs(path)
    print("\nUnseen sentences and their translations (✓ equal to the reference, ✗ not):\n")  # noqa: T201
    for index in range(0, len(pairs), max(1, len(pairs) // PRINTED_TRANSLATIONS))[:PRINTED_TRANSLATIONS]:
        source, target = pairs[index]
        output = report.translations[index].text
        print(f"  {source}\n    {'✓' if output == target else '✗'} {output}")  # noqa: T201
        if output != target:
            print(f"    = {target}")  # noqa: T201


def _write_page(run: Path, translator: Translator, report: EvaluationReport, path: Path) -> None:
    """Write the page with all views; heads are named after their pattern in the sentences and in the test set."""
    pairs = read_tsv_pairs(path)
    longest_pairs = sorted(range(len(pairs)), key=lambda index: -len(pairs[index][0]))[:3]
    examples = [translation_example(translator(text), text) for text in PAGE_EXAMPLES]
    examples += [translation_example(report.translations[index], *pairs[index]) for index in longest_pairs]
    stride = max(1, len(pairs) // NAMING_SAMPLES)
    samples = [translation_example(report.translations[index], *pairs[index]) for index in range(0, len(pairs), stride)]
    title = "tongsa demo: English → Korean"
    examples_page(translator, examples, title=title, samples=samples[:NAMING_SAMPLES]).save(run / "attention.html")


def _print_scores(run: Path, reports: dict[str, EvaluationReport], progress: TrainingProgress, seconds: float) -> None:
    print(f"\nTrained in {format_duration(progress.seconds)}, everything in {format_duration(seconds)}.")  # noqa: T201
    for name, report in reports.items():
        scores = report.scores
        metrics = f"exact match {scores['exact_match'].value:5.1f} %   BLEU {scores['bleu'].value:5.1f}"
        print(f"  {name:9}  {metrics}   ({report.sentences:,} sentences, {scores['bleu'].signature})")  # noqa: T201
    print(  # noqa: T201
        f"""
Look inside:     {run}/attention.html   (open it in a browser)
Translate:       echo 'I go home' | {format_command("translate {}", run)}
Your own data:   {format_command("train --data my.tsv --run runs/mine --budget 20m")}
All scores:      {run}/scores.json"""
    )
