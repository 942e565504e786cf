"""Projections of queries, keys and values."""
