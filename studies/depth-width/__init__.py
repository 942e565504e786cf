"""Depth and width."""
