"""Evaluation: metrics with signatures, and the evaluation of a model."""
