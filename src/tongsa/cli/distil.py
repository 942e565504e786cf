"""`tongsa distil`: a student that learns what its teacher would say."""

import argparse

from tongsa.cli.verbs import print_training_summary


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.distillation import distil

    progress = distil(
        options.teacher,
        options.into,
        run=options.run,
        settings=options.set,
        budget=options.budget,
        beam=options.beam,
        nbest=options.outputs,
        keep_references=options.mix,
        init_from_teacher=options.begin,
    )
    print_training_summary(options.run, progress)
