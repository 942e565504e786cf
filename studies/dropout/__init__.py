"""Dropout, and its effect on attention."""
