"""Mask before the softmax or after it."""
