"""Runs: recipe, data, training, validation and reports in one folder. `train` starts a run, `resume` continues it."""

from tongsa.runs.train import resume, train

__all__ = ["resume", "train"]
