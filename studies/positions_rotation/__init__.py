"""Sinusoidal positions as rotations."""
