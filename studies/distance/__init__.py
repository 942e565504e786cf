"""Gradient and learning against the distance between two tokens."""
