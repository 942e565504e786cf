"""`tongsa distil`: a student that learns what its teacher would say."""

import argparse

from tongsa.cli.verbs import finished


def distil(options: argparse.Namespace) -> None:
    from tongsa.experiment.distillation import distil

    progress = distil(
        options.teacher,
        options.into,
        run=options.run,
        settings=options.set,
        budget=options.budget,
        beam=options.beam,
        outputs=options.outputs,
        mix=options.mix,
        begin=options.begin,
    )
    finished(options.run, progress)
