"""`tongsa train`: start or resume a run."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tongsa.cli.data_arguments import add_training_arguments, add_training_data_arguments, training_settings
from tongsa.cli.output import print_status
from tongsa.errors import EXIT_OK, InputError
from tongsa.program import format_command

if TYPE_CHECKING:
    from tongsa.training.checkpoint_files import TrainingProgress

HELP = "train a model from a recipe or from your own data"
DESCRIPTION = """\
Train a model. Settings come from a recipe; without one, a preset is chosen for the size of the data.

  tongsa train recipes/multi30k-de-en.toml --run runs/de-en
  tongsa train --data train.tsv --dev dev.tsv --run runs/mine --budget 20m
  tongsa train --data train.de train.en --run runs/mine --set training.steps=5000
  tongsa train --data reviews.tsv --set model.kind=structured_self_attention --run runs/reviews
  tongsa train --data text.txt --set model.kind=rnn_lm --run runs/lm
  tongsa train --data mine.tsv --run runs/mine --set training.init_from=runs/general    fine-tune another run
  tongsa train --resume runs/mine                                continue after an interruption
  tongsa train --resume runs/mine --set training.steps=9000      train longer; or for more time: --budget 20m

Files: .tsv (source<TAB>target), .csv, .jsonl ({"source": …, "target": …}), .tmx, .po, .mo, .xliff, .parquet, or two
parallel files; each may end in .gz, .xz, .zst or .bz2, and a name may be a pattern ('corpus-*.tsv.gz').
A language model reads plain text, one text per line. A classifier reads text<TAB>label.
Ctrl-C and SIGTERM save a checkpoint and stop. A resumed run gives the same bytes as an uninterrupted one.
"""
NEW_RUN_ARGUMENTS = ("recipe", "data", "dev", "test", "columns", "header", "run", "resume_if_exists")
"""Arguments that --resume does not allow."""
NEXT_COMMANDS = {
    "seq2seq": ("echo '…' | ", "translate {}"),
    "classification": ("echo '…' | ", "classify {}"),
    "language_model": ("", "sample {}"),
}
"""Text before the command, and the command, by task."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", nargs="?", type=Path, metavar="RECIPE", help="a TOML file; see recipes/")
    add_training_data_arguments(parser)
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="folder for the checkpoints, the model and the logs")
    parser.add_argument("--budget", metavar="TIME", help="choose the steps for this time: 90s, 20m, 1h30m")
    add_training_arguments(parser, "training.steps=5000")
    parser.add_argument("--resume", type=Path, metavar="FOLDER", help="resume the run in this folder")
    parser.add_argument(
        "--resume-if-exists", action="store_true", help="resume if --run holds a run, start it otherwise"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="data-parallel processes on this machine")


def run(options: argparse.Namespace) -> int:
    from tongsa.cli import worker_processes

    if options.workers < 1:
        raise InputError(f"--workers {options.workers}: too few. Give at least 1.")
    worker_processes.check_count(options.workers)
    if options.workers > 1 and "RANK" not in os.environ:
        return worker_processes.launch_workers(options.argv, options.workers)
    worker_processes.terminate_with_launcher()
    folder, progress = _train_or_resume(options)
    if os.environ.get("RANK", "0") == "0":
        print_training_summary(folder, progress)
    return EXIT_OK


def _train_or_resume(options: argparse.Namespace) -> "tuple[Path, TrainingProgress]":
    from tongsa import runs

    if options.resume is not None:
        if surplus := [_flag(name) for name in NEW_RUN_ARGUMENTS if _is_given(getattr(options, name))]:
            raise InputError(f"--resume: recipe, data and folder are those of the run. Leave out {', '.join(surplus)}.")
        settings = training_settings(options)
        return options.resume, runs.resume(options.resume, settings=settings, budget=options.budget)
    if options.run is None:
        raise InputError("--run is missing. Name a folder for this run, for example --run runs/mine.")
    progress = runs.train(
        options.recipe,
        run=options.run,
        data=options.data,
        dev=options.dev,
        test=options.test,
        settings=training_settings(options),
        budget=options.budget,
        resume_if_exists=options.resume_if_exists,
    )
    return options.run, progress


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value not in ((), [])


def _flag(name: str) -> str:
    return "the recipe" if name == "recipe" else f"--{name.replace('_', '-')}"


def print_training_summary(folder: Path, progress: "TrainingProgress") -> None:
    """Print the number of steps, the best step and the next command."""
    from tongsa import bundle

    task = bundle.load_bundle(folder).config.task
    print_status(f"done: {progress.step:,} steps; the best model (step {progress.best_step:,}) is in {folder}/model")
    before, command = NEXT_COMMANDS[task]
    print_status(f"next: {before}{format_command(command, folder)}")
