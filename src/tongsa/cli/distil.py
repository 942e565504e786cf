"""`tongsa distil`: sequence-level knowledge distillation."""

import argparse
from pathlib import Path

from tongsa.cli.data_arguments import add_training_arguments, training_settings
from tongsa.cli.train import print_training_summary

HELP = "train a small model on the translations of a large one"
DESCRIPTION = """\
Sequence-level knowledge distillation (Kim and Rush 2016). The teacher translates the training sources of the student's
recipe. The student is trained on these translations and validated on the references.

  tongsa distil runs/large --recipe recipes/multi30k-fast.toml --run runs/fast \\
      --init-from-teacher --keep-references --nbest 2
  tongsa distil runs/seed1 runs/seed2 runs/seed3 --recipe recipes/multi30k-fast.toml --run runs/fast

If killed while the teacher translates, the same command continues. After that, resume with tongsa train --resume.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "teachers", type=Path, nargs="+", metavar="TEACHER", help="folder of a run; several translate as an ensemble"
    )
    parser.add_argument("--recipe", type=Path, required=True, metavar="RECIPE", help="the student's recipe")
    parser.add_argument("--run", type=Path, required=True, metavar="FOLDER", help="folder for the student's run")
    parser.add_argument("--beam", type=int, metavar="N", help="beam width of the teachers (default: the first's)")
    parser.add_argument("--nbest", type=int, default=1, metavar="N", help="translations per source (default: 1)")
    parser.add_argument("--keep-references", action="store_true", help="train on the references as well")
    parser.add_argument(
        "--init-from-teacher",
        action="store_true",
        help="initialize the student with the first teacher's weights that fit",
    )
    parser.add_argument("--budget", metavar="TIME", help="choose the student's steps for this training time, e.g. 20m")
    add_training_arguments(parser, "training.steps=5000")


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.distillation import distil

    progress = distil(
        options.teachers,
        options.recipe,
        run=options.run,
        settings=training_settings(options),
        budget=options.budget,
        beam=options.beam,
        nbest=options.nbest,
        keep_references=options.keep_references,
        init_from_teacher=options.init_from_teacher,
    )
    print_training_summary(options.run, progress)
