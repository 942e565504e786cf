"""Batch, layer and group normalization by example."""
